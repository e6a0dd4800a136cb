// forebay._core: the block-cache simulator. Only a binding; the headers that it includes say what
// everything means.
#include "sim_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "columns.h"
#include "sim/belady.h"
#include "sim/block_ids.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using sim::BlockCounts;

BlockCounts simulate_blocks(const std::string& policy, const Column<uint64_t>& ids, uint32_t frames,
                            uint32_t shards) {
  const PolicySpec* const spec = find_policy(policy);
  expect(spec != nullptr, "there is no such policy");
  expect(shards >= 1 && shards <= sim::most_shards, "a cache has 1 to 64 shards");
  const nb::gil_scoped_release release;
  return sim::simulate_blocks(*spec, span_of(ids), frames, shards);
}

std::vector<int64_t> min_block_hits(const Column<uint64_t>& ids,
                                    const std::vector<uint32_t>& frames) {
  expect(ids.shape(0) <= sim::most_touches, "these are too many touches");
  const nb::gil_scoped_release release;
  return sim::min_block_hits(span_of(ids), frames);
}

}  // namespace

void bind_sim(nb::module_& module) {
  nb::class_<BlockCounts>(module, "BlockCounts", "The counts of a cache of blocks.")
      .def_ro("hits", &BlockCounts::hits)
      .def_ro("misses", &BlockCounts::misses)
      .def_ro("evictions", &BlockCounts::evictions)
      .def_ro("state_bytes", &BlockCounts::state_bytes);
  module.def("simulate_blocks", &simulate_blocks, "policy"_a, "ids"_a, "frames"_a, "shards"_a = 1);
  module.def("min_block_hits", &min_block_hits, "ids"_a, "frames"_a);
}

}  // namespace forebay
