// forebay._core: what the runtime's caches count, from traces of it. A binding only; the meaning of
// everything here stands in the headers it includes.
#include "replay_binding.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/trace_reader.h"
#include "sim/replay.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using sim::Replayed;
using sim::ReplayedCache;
using sim::RuntimeSettings;

// All accesses of a trace, read once, replayed with as many settings as are asked for.
class Replay {
 public:
  explicit Replay(std::shared_ptr<const runtime::TraceReader> reader) : reader_(std::move(reader)) {
    const nb::gil_scoped_release release;
    runtime::AccessStream stream(reader_);
    std::vector<runtime::BadBlock> bad;
    stream.next(0, table_, bad);
  }

  std::vector<ReplayedCache> run(const RuntimeSettings& settings, bool by_process) const {
    const nb::gil_scoped_release release;
    Replayed replayed = sim::replay(reader_->job(), table_, settings,
                                    by_process ? sim::Sharing::process : sim::Sharing::node);
    if (!replayed.problem.empty()) throw std::invalid_argument(replayed.problem);
    return std::move(replayed.caches);
  }

 private:
  std::shared_ptr<const runtime::TraceReader> reader_;
  trace::Table table_;
};

void set_policy(RuntimeSettings& settings, const std::string& name) {
  settings.policy = find_policy(name);
  if (settings.policy == nullptr) throw std::invalid_argument("there is no policy " + name);
}

void set_page_kind(RuntimeSettings& settings, const std::string& name) {
  settings.page_kind = find_page_kind(name);
  if (settings.page_kind == nullptr) throw std::invalid_argument("there is no page kind " + name);
}

}  // namespace

void bind_replay(nb::module_& module) {
  nb::class_<RuntimeSettings>(module, "RuntimeSettings", "Of a cache, as the options say.")
      .def(
          "__init__",
          [](RuntimeSettings* settings, const std::string& policy, const std::string& page_kind) {
            new (settings) RuntimeSettings;
            set_policy(*settings, policy);
            set_page_kind(*settings, page_kind);
          },
          "policy"_a, "page_kind"_a)
      .def_rw("page_size", &RuntimeSettings::page_size)
      .def_rw("capacity_bytes", &RuntimeSettings::capacity_bytes)
      .def_rw("shards", &RuntimeSettings::shards)
      .def_rw("bypass_bytes", &RuntimeSettings::bypass_bytes)
      .def_rw("read_ahead_bytes", &RuntimeSettings::read_ahead_bytes)
      .def_rw("commit_size_bytes", &RuntimeSettings::commit_size_bytes)
      .def_rw("dirty_bound", &RuntimeSettings::dirty_bound)
      .def_rw("write_behind", &RuntimeSettings::write_behind);
  nb::class_<ReplayedCache>(module, "ReplayedCache", "What one cache counted.")
      .def_ro("name", &ReplayedCache::name)
      .def_ro("processes", &ReplayedCache::processes)
      .def_ro("steps", &ReplayedCache::steps)
      .def_prop_ro("hits", [](const ReplayedCache& c) { return c.counts.hits; })
      .def_prop_ro("misses", [](const ReplayedCache& c) { return c.counts.misses; })
      .def_prop_ro("evictions", [](const ReplayedCache& c) { return c.counts.evictions; })
      .def_prop_ro("committed_bytes",
                   [](const ReplayedCache& c) { return c.counts.committed_bytes; })
      .def_prop_ro("fetched_bytes", [](const ReplayedCache& c) { return c.counts.fetched_bytes; })
      .def_prop_ro("bypass_bytes", [](const ReplayedCache& c) { return c.counts.bypass_bytes; });
  nb::class_<Replay>(module, "Replay", "The accesses of a trace, to be done again.")
      .def(nb::init<std::shared_ptr<const runtime::TraceReader>>(), "reader"_a)
      .def("run", &Replay::run, "settings"_a, "by_process"_a);
}

}  // namespace forebay
