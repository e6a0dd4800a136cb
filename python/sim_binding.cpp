// forebay._core: the block-cache simulator. A binding only; the meaning of everything here stands
// in the headers it includes.
#include "sim_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns.h"
#include "sim/belady.h"
#include "sim/block_cache.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

// Blocks known by one number each, as pages of one file.
class Blocks {
 public:
  explicit Blocks(const Column<uint64_t>& ids) : ids_(ids.data()), left_(ids.shape(0)) {}

  // The next ones; none at the end.
  std::span<const PageKey> next() {
    const std::size_t count = std::min(left_, keys_.size());
    for (std::size_t i = 0; i < count; ++i) keys_[i] = {1, static_cast<int64_t>(ids_[i])};
    ids_ += count;
    left_ -= count;
    return {keys_.data(), count};
  }

 private:
  const uint64_t* ids_;
  std::size_t left_;
  std::array<PageKey, 4096> keys_;
};

constexpr uint32_t most_shards = 64;  // as the runtime's

struct BlockResult {
  int64_t hits, misses, evictions;
  std::size_t state_bytes;
};

BlockResult simulate_blocks(const std::string& policy, const Column<uint64_t>& ids, uint32_t frames,
                            uint32_t shards) {
  const PolicySpec* const spec = find_policy(policy);
  if (spec == nullptr) throw std::invalid_argument("there is no policy " + policy);
  expect(shards >= 1 && shards <= most_shards, "a cache has 1 to 64 shards");
  const nb::gil_scoped_release release;
  sim::BlockCache cache(*spec, sim::useful_frames(frames, ids.shape(0), shards), shards);
  Blocks blocks(ids);
  for (auto keys = blocks.next(); !keys.empty(); keys = blocks.next()) cache.access(keys);
  return {cache.hits(), cache.misses(), cache.evictions(), cache.state_bytes()};
}

std::vector<int64_t> min_block_hits(const Column<uint64_t>& ids,
                                    const std::vector<uint32_t>& frames) {
  expect(ids.shape(0) <= sim::most_touches, "these are too many touches");
  const nb::gil_scoped_release release;
  std::vector<PageKey> touches;
  touches.reserve(ids.shape(0));
  Blocks blocks(ids);
  for (auto keys = blocks.next(); !keys.empty(); keys = blocks.next())
    touches.insert(touches.end(), keys.begin(), keys.end());
  return sim::min_hits(touches, frames);
}

}  // namespace

void bind_sim(nb::module_& module) {
  nb::class_<BlockResult>(module, "BlockResult")
      .def_ro("hits", &BlockResult::hits)
      .def_ro("misses", &BlockResult::misses)
      .def_ro("evictions", &BlockResult::evictions)
      .def_ro("state_bytes", &BlockResult::state_bytes);
  module.def("simulate_blocks", &simulate_blocks, "policy"_a, "ids"_a, "frames"_a, "shards"_a = 1);
  module.def("min_block_hits", &min_block_hits, "ids"_a, "frames"_a);
}

}  // namespace forebay
