// forebay._core: the counts of the runtime's caches, replayed from traces of them. Only a binding;
// the headers that it includes say what everything means.
#include "replay_binding.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "runtime/trace/recorded_run.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

using runtime::RecordedRun;
using sim::ReplayedCache;

void bind_replay(nb::module_& module) {
  nb::class_<ReplayedCache>(module, "ReplayedCache", "The counts of one cache.")
      .def_ro("name", &ReplayedCache::name)
      .def_ro("processes", &ReplayedCache::processes)
      .def_ro("steps", &ReplayedCache::steps)
      .def_prop_ro("hits", [](const ReplayedCache& c) { return c.statistics.hits; })
      .def_prop_ro("misses", [](const ReplayedCache& c) { return c.statistics.misses; })
      .def_prop_ro("evictions", [](const ReplayedCache& c) { return c.statistics.evictions; })
      .def_prop_ro("committed_bytes",
                   [](const ReplayedCache& c) { return c.statistics.committed_bytes; })
      .def_prop_ro("fetched_bytes",
                   [](const ReplayedCache& c) { return c.statistics.fetched_bytes; })
      .def_prop_ro("bypass_bytes",
                   [](const ReplayedCache& c) { return c.statistics.bypass_bytes; });
  nb::class_<RecordedRun>(module, "RecordedRun", "A run whose caches were traced, for replay.")
      .def(nb::init<std::shared_ptr<const runtime::TraceReader>>(), "reader"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("options", &RecordedRun::options)
      .def("replay", &RecordedRun::replay, "options"_a, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace forebay
