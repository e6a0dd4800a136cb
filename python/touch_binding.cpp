// forebay._core: traces as touches of pages, and caches that are shown them. A binding only;
// forebay.simulation says what is here for users.
#include "touch_binding.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "columns.h"
#include "engine/rules.h"
#include "policy/policy.h"
#include "sim/access_log.h"
#include "sim/aggregation.h"
#include "sim/belady.h"
#include "sim/block_trace.h"
#include "sim/job_log.h"
#include "sim/progress.h"
#include "sim/stream.h"
#include "sim/touches.h"
#include "trace/job.h"
#include "views.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using sim::AccessLog;
using sim::BlockFormat;
using sim::JobLog;
using sim::Progress;

// What caches are shown, and what went past them.
struct Touches {
  sim::Stream stream;
  uint64_t past_accesses = 0;
  uint64_t past_bytes = 0;
  std::vector<uint64_t> accesses;  // to each cache, with those past it
};

std::shared_ptr<Touches> touches_of(sim::Shown shown) {
  auto touches = std::make_shared<Touches>();
  touches->past_accesses = shown.past_accesses;
  touches->past_bytes = shown.past_bytes;
  touches->accesses = std::move(shown.accesses);
  touches->stream = sim::Stream(std::move(shown));
  return touches;
}

// `opens`: process, file and ranks of each.
JobLog make_job_log(const Views& views,
                    const std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>& opens,
                    uint64_t accesses, uint64_t most_bytes) {
  expect(opens.size() <= JobLog::most_numbers, "these are too many opens");
  std::vector<trace::Open> of_job(opens.size());
  for (std::size_t i = 0; i < opens.size(); ++i)
    std::tie(of_job[i].process, of_job[i].file, of_job[i].ranks) = opens[i];
  return {views, of_job, accesses, most_bytes};
}

bool add_accesses(JobLog& job, const Column<uint32_t>& process, const Column<int32_t>& file,
                  const Column<int32_t>& open, const Column<uint16_t>& routine,
                  const Column<uint8_t>& operation, const Column<int8_t>& collective,
                  const Column<int64_t>& offset, const Column<int64_t>& end,
                  const Column<uint8_t>& contiguous, const Column<int32_t>& view,
                  const Column<int64_t>& position, const Column<int64_t>& requested,
                  const Column<int64_t>& start_ns) {
  rows_of(process, file, open, routine, operation, collective, offset, end, contiguous, view,
          position, requested, start_ns);
  const sim::JobColumns columns{span_of(process), span_of(file),      span_of(open),
                                span_of(routine), span_of(operation), span_of(collective),
                                span_of(offset),  span_of(end),       span_of(contiguous),
                                span_of(view),    span_of(position),  span_of(requested),
                                span_of(start_ns)};
  const nb::gil_scoped_release release;
  return job.add(columns);
}

std::shared_ptr<Touches> original(const AccessLog& log, int64_t page_bytes, uint64_t most,
                                  std::vector<uint32_t> cache_of, std::vector<int64_t> least_past,
                                  Progress& progress) {
  expect_page(page_bytes);
  expect(!least_past.empty(), "there is at least one cache");
  expect(cache_of.empty() || cache_of.size() >= log.processes(), "a process has no cache");
  for (const uint32_t cache : cache_of) expect(cache < least_past.size(), "there is no such cache");
  sim::Shown shown;
  const nb::gil_scoped_release release;
  const sim::Caches caches{std::move(cache_of), std::move(least_past)};
  if (!sim::original_touches(log, page_bytes, caches, most, shown, progress)) return nullptr;
  return touches_of(std::move(shown));
}

std::shared_ptr<Touches> aggregated(const AccessLog& log, int64_t page_bytes, uint64_t most,
                                    uint32_t aggregators, int64_t buffer_bytes, int64_t window_ns,
                                    int64_t least_past, Progress& progress) {
  expect_page(page_bytes);
  expect(aggregators > 0, "there is at least one aggregator");
  expect(buffer_bytes > 0, "a collective buffer has at least one byte");
  sim::Shown shown;
  const nb::gil_scoped_release release;
  if (!sim::aggregated_touches(log, page_bytes, least_past, {aggregators, buffer_bytes, window_ns},
                               most, shown, progress))
    return nullptr;
  return touches_of(std::move(shown));
}

std::vector<std::size_t> pages_of(const Touches& touches) {
  std::vector<std::size_t> pages;
  for (std::size_t c = 0; c < touches.stream.caches(); ++c)
    pages.push_back(touches.stream.cache(c).pages());
  return pages;
}

std::shared_ptr<Touches> sampled(const Touches& touches, uint64_t low, uint64_t high) {
  auto sample = std::make_shared<Touches>();
  sample->stream = touches.stream.sampled(low, high);
  return sample;
}

// Hits, misses and evictions of caches of so many frames.
std::tuple<int64_t, int64_t, int64_t> simulate(const Touches& touches, const std::string& name,
                                               const std::vector<uint32_t>& frames,
                                               Progress& progress) {
  const PolicySpec* const policy = find_policy(name);
  expect(policy != nullptr || name == "min", "there is no such policy");
  expect(frames.size() == touches.stream.caches(), "each cache has its frames");
  expect(touches.stream.touches() <= sim::most_touches, "these are too many touches");
  const nb::gil_scoped_release release;
  const sim::CacheCounts counts = policy == nullptr
                                      ? sim::simulate_min(touches.stream, frames, progress)
                                      : sim::simulate(touches.stream, *policy, frames, progress);
  return {counts.hits, counts.misses, counts.evictions};
}

class BlockFile {
 public:
  BlockFile(const std::string& format, uint64_t most_bytes)
      : reader_(format_named(format), most_bytes) {}

  void feed(nb::bytes bytes) {
    expect(!finished_, "the trace has ended");
    const std::string_view view(bytes.c_str(), bytes.size());
    std::string wrong;
    {
      const nb::gil_scoped_release release;
      wrong = reader_.feed(view);
    }
    finished_ = !wrong.empty();
    if (!wrong.empty()) throw nb::value_error(wrong.c_str());
  }
  void finish() {
    expect(!std::exchange(finished_, true), "the trace has ended");
    std::string wrong;
    {
      const nb::gil_scoped_release release;
      wrong = reader_.finish();
    }
    if (!wrong.empty()) throw nb::value_error(wrong.c_str());
  }
  std::size_t ids() { return reader_.trace().keys.size(); }
  std::shared_ptr<Touches> touches() {
    const nb::gil_scoped_release release;
    sim::Shown shown;
    shown.keys = std::move(reader_.trace().keys);
    shown.ends = {shown.keys.size()};
    shown.accesses = {shown.keys.size()};
    return touches_of(std::move(shown));
  }
  AccessLog& log() { return reader_.trace().log; }
  nb::typed<nb::list, nb::bytes> files() {
    nb::typed<nb::list, nb::bytes> names;
    for (const std::string& name : reader_.trace().files)
      names.append(nb::bytes(name.data(), name.size()));
    return names;
  }

 private:
  static BlockFormat format_named(const std::string& name) {
    expect(name == "text" || name == "oracleGeneral", "a block trace is text or oracleGeneral");
    return name == "text" ? BlockFormat::text : BlockFormat::oracle_general;
  }

  sim::BlockReader reader_;
  bool finished_ = false;  // or failed
};

}  // namespace

void bind_touches(nb::module_& module) {
  module.attr("touch_bytes") = sim::touch_bytes;
  nb::class_<AccessLog>(module, "AccessLog", "Data accesses that a simulator is fed with.")
      .def("__len__", [](const AccessLog& log) { return log.accesses().size(); })
      .def_prop_ro("processes", &AccessLog::processes)
      .def_prop_ro("has_collective", &AccessLog::has_collective)
      .def_prop_ro("backward", &AccessLog::backward, "Left out: their views go backwards.");
  nb::class_<JobLog>(module, "JobLog", "Makes an AccessLog of a job's trace.")
      .def(
          "__init__",
          [](JobLog* self, const Views& views,
             const std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>& opens, uint64_t accesses,
             uint64_t most_bytes) {
            new (self) JobLog(make_job_log(views, opens, accesses, most_bytes));
          },
          "views"_a, "opens"_a, "accesses"_a, "most_bytes"_a,
          "For up to so many accesses of a trace, with process, file and ranks of each open.")
      .def("add", add_accesses, "process"_a, "file"_a, "open"_a, "routine"_a, "operation"_a,
           "collective"_a, "offset"_a, "end"_a, "contiguous"_a, "view"_a, "position"_a,
           "requested"_a, "start_ns"_a, "False: there is no room for so many.")
      .def(
          "finish", [](JobLog& job) { job.log().sort(); }, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("log", &JobLog::log, nb::rv_policy::reference_internal)
      .def_prop_ro("unplaced", &JobLog::unplaced, "Left out: no place or no time is known.");
  nb::class_<BlockFile>(module, "BlockFile", "Reads a block trace.")
      .def(nb::init<const std::string&, uint64_t>(), "format"_a, "most_bytes"_a)
      .def("feed", &BlockFile::feed, "bytes"_a, "Raises ValueError: what is wrong, and where.")
      .def("finish", &BlockFile::finish)
      .def_prop_ro("ids", &BlockFile::ids, "How many block ids were read.")
      .def("touches", &BlockFile::touches, "The touches of these; once.")
      .def_prop_ro("log", &BlockFile::log, nb::rv_policy::reference_internal)
      .def_prop_ro("files", &BlockFile::files);
  nb::class_<Progress>(module, "Progress", "How far work in another thread has come.")
      .def(nb::init<>())
      .def_prop_ro("done", [](const Progress& progress) { return progress.done.load(); });
  nb::class_<Touches>(module, "Touches", "What caches are shown.")
      .def("__len__", [](const Touches& touches) { return touches.stream.touches(); })
      .def_prop_ro("pages", pages_of, "How many different ones are shown to each cache.")
      .def_ro("accesses", &Touches::accesses, "To each cache, with those past it.")
      .def_ro("past_accesses", &Touches::past_accesses, "That went past a cache.")
      .def_ro("past_bytes", &Touches::past_bytes)
      .def("sampled", sampled, "low"_a, "high"_a, nb::call_guard<nb::gil_scoped_release>(),
           "The touches of pages whose marks, of 32 bits, are in [low, high).")
      .def("simulate", simulate, "policy"_a, "frames"_a, "progress"_a,
           "Hits, misses and evictions of caches of so many frames; also by `min`, Belady's.");
  module.def("least_past", least_past, "bypass_bytes"_a, "capacity_bytes"_a,
             "So long accesses go past a cache of the runtime.");
  module.def("original_touches", original, "log"_a, "page_bytes"_a, "most"_a, "cache_of"_a,
             "least_past"_a, "progress"_a, "None: they are more than `most`.");
  module.def("aggregated_touches", aggregated, "log"_a, "page_bytes"_a, "most"_a, "aggregators"_a,
             "buffer_bytes"_a, "window_ns"_a, "least_past"_a, "progress"_a,
             "None: they are more than `most`.");
}

}  // namespace forebay
