// forebay._core: traces as touches of pages, and simulations of caches with these touches. Only a
// binding; forebay.simulation documents its use.
#include "touch_binding.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bytes.h"
#include "columns.h"
#include "engine/rules.h"
#include "policy/policy.h"
#include "sim/access_log.h"
#include "sim/aggregation.h"
#include "sim/belady.h"
#include "sim/block_trace.h"
#include "sim/job_log.h"
#include "sim/more_processes.h"
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
using sim::BlockReader;
using sim::JobLog;
using sim::MoreProcesses;
using sim::Progress;

// `opens`: process, file and number of ranks of each open.
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
                  const Column<int64_t>& start_ns, const Column<int64_t>& end_ns) {
  rows_of(process, file, open, routine, operation, collective, offset, end, contiguous, view,
          position, requested, start_ns, end_ns);
  const sim::JobColumns columns{span_of(process),  span_of(file),      span_of(open),
                                span_of(routine),  span_of(operation), span_of(collective),
                                span_of(offset),   span_of(end),       span_of(contiguous),
                                span_of(view),     span_of(position),  span_of(requested),
                                span_of(start_ns), span_of(end_ns)};
  const nb::gil_scoped_release release;
  return job.add(columns);
}

std::optional<MoreProcesses> extended(const AccessLog& log, uint32_t processes,
                                      uint64_t most_bytes) {
  constexpr uint32_t most = 1 << 16;
  expect(processes > log.processes() && processes <= most,
         "more processes are more than the log has, and at most 65,536");
  return sim::more_processes(log, processes, most_bytes / sim::log_bytes_per_access);
}

std::vector<std::pair<uint32_t, std::string>> left_of(const MoreProcesses& job) {
  std::vector<std::pair<uint32_t, std::string>> left;
  for (const MoreProcesses::Left& one : job.left) left.emplace_back(one.file, one.why);
  return left;
}

std::vector<std::pair<uint32_t, uint32_t>> own_of(const MoreProcesses& job) {
  std::vector<std::pair<uint32_t, uint32_t>> own;
  for (const MoreProcesses::Own& one : job.own) own.emplace_back(one.of, one.process);
  return own;
}

std::optional<sim::Stream> original(const AccessLog& log, int64_t page_bytes, uint64_t most,
                                    std::vector<uint32_t> cache_of, std::vector<int64_t> least_past,
                                    Progress& progress, bool pieces) {
  expect_page(page_bytes);
  expect(!least_past.empty(), "there is at least one cache");
  expect(cache_of.empty() || cache_of.size() >= log.processes(), "a process has no cache");
  for (const uint32_t cache : cache_of) expect(cache < least_past.size(), "there is no such cache");
  sim::Shown shown;
  const nb::gil_scoped_release release;
  const sim::Caches caches{std::move(cache_of), std::move(least_past)};
  if (!sim::original_touches(log, page_bytes, caches, most, shown, progress, pieces))
    return std::nullopt;
  return sim::Stream(std::move(shown));
}

std::optional<sim::Stream> aggregated(const AccessLog& log, int64_t page_bytes, uint64_t most,
                                      uint32_t aggregators, int64_t buffer_bytes, int64_t window_ns,
                                      int64_t least_past, Progress& progress, bool pieces) {
  expect_page(page_bytes);
  expect(aggregators > 0, "there is at least one aggregator");
  expect(buffer_bytes > 0, "a collective buffer has at least one byte");
  sim::Shown shown;
  const nb::gil_scoped_release release;
  if (!sim::aggregated_touches(log, page_bytes, least_past, {aggregators, buffer_bytes, window_ns},
                               most, shown, progress, pieces))
    return std::nullopt;
  return sim::Stream(std::move(shown));
}

std::vector<std::size_t> pages_of(const sim::Stream& stream) {
  std::vector<std::size_t> pages;
  for (std::size_t c = 0; c < stream.caches(); ++c) pages.push_back(stream.cache(c).pages());
  return pages;
}

// Hits, misses and evictions of all caches together; `frames`: per cache.
std::tuple<int64_t, int64_t, int64_t> simulate_stream(const sim::Stream& stream,
                                                      const std::string& name,
                                                      const std::vector<uint32_t>& frames,
                                                      Progress& progress) {
  const PolicySpec* const policy = find_policy(name);
  const bool informed = name == "informed";
  expect(policy != nullptr || informed || name == "min", "there is no such policy");
  expect(!informed || stream.has_order(), "the accesses were not recorded");
  expect(frames.size() == stream.caches(), "each cache has its frames");
  expect(stream.touches() <= sim::most_touches, "these are too many touches");
  const nb::gil_scoped_release release;
  const sim::CacheCounts counts = informed ? sim::simulate_informed(stream, frames, progress)
                                  : policy == nullptr
                                      ? sim::simulate_min(stream, frames, progress)
                                      : sim::simulate(stream, *policy, frames, progress);
  return {counts.hits, counts.misses, counts.evictions};
}

void feed(BlockReader& reader, const nb::bytes& bytes) {
  std::string wrong;
  {
    const nb::gil_scoped_release release;
    wrong = reader.feed({bytes.c_str(), bytes.size()});
  }
  if (!wrong.empty()) throw nb::value_error(wrong.c_str());
}

void finish(BlockReader& reader) {
  std::string wrong;
  {
    const nb::gil_scoped_release release;
    wrong = reader.finish();
  }
  if (!wrong.empty()) throw nb::value_error(wrong.c_str());
}

std::vector<nb::bytes> files_of(BlockReader& reader) {
  std::vector<nb::bytes> names;
  for (const std::string& name : reader.trace().files) names.push_back(bytes_of(name));
  return names;
}

}  // namespace

void bind_touches(nb::module_& module) {
  module.attr("touch_bytes") = sim::touch_bytes;
  module.attr("piece_bytes") = sizeof(sim::Piece);
  nb::class_<AccessLog>(module, "AccessLog", "The data accesses of a job, for simulators.")
      .def("__len__", [](const AccessLog& log) { return log.accesses().size(); })
      .def_prop_ro("processes", &AccessLog::processes)
      .def_prop_ro("has_collective", &AccessLog::has_collective)
      .def_prop_ro("backward", &AccessLog::backward,
                   "Accesses that were left out because their view goes backwards.");
  nb::class_<JobLog>(module, "JobLog", "Makes an AccessLog of a job's trace.")
      .def(
          "__init__",
          [](JobLog* self, const Views& views,
             const std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>& opens, uint64_t accesses,
             uint64_t most_bytes) {
            new (self) JobLog(make_job_log(views, opens, accesses, most_bytes));
          },
          "views"_a, "opens"_a, "accesses"_a, "most_bytes"_a,
          "`opens`: process, file and number of ranks of each. `accesses`: how many are expected.")
      .def("add", add_accesses, "process"_a, "file"_a, "open"_a, "routine"_a, "operation"_a,
           "collective"_a, "offset"_a, "end"_a, "contiguous"_a, "view"_a, "position"_a,
           "requested"_a, "start_ns"_a, "end_ns"_a,
           "Adds the reads and writes. False: they need more memory than allowed.")
      .def(
          "finish", [](JobLog& job) { job.log().sort(); }, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("log", &JobLog::log, nb::rv_policy::reference_internal)
      .def_prop_ro("unplaced", &JobLog::unplaced,
                   "Accesses that were left out because their place or time is unknown.");
  nb::class_<MoreProcesses>(module, "MoreProcesses",
                            "A job with more processes (src/sim/more_processes.h).")
      .def_prop_ro(
          "log", [](MoreProcesses& job) -> AccessLog& { return job.log; },
          nb::rv_policy::reference_internal)
      .def_ro("shared", &MoreProcesses::shared)
      .def_ro("unequal", &MoreProcesses::unequal)
      .def_ro("kept_accesses", &MoreProcesses::kept_accesses)
      .def_ro("kept_bytes", &MoreProcesses::kept_bytes)
      .def_prop_ro("left", left_of, "Files that keep their processes: number, and why.")
      .def_ro("first_own", &MoreProcesses::first_own)
      .def_prop_ro("own", own_of,
                   "Files of one further process, from number `first_own` on: the number of the"
                   " file that it is like, and the process.");
  module.def("more_processes", extended, "log"_a, "processes"_a, "most_bytes"_a,
             nb::call_guard<nb::gil_scoped_release>(),
             "The log's job with more processes. None: its accesses need more memory.");
  nb::class_<BlockReader>(module, "BlockReader", "Reads a block trace (src/sim/block_trace.h).")
      .def(
          "__init__",
          [](BlockReader* self, const std::string& name, uint64_t most_bytes) {
            const auto format = sim::find_block_format(name);
            expect(format.has_value(), "a block trace is text or oracleGeneral");
            new (self) BlockReader(*format, most_bytes);
          },
          "format"_a, "most_bytes"_a)
      .def("feed", feed, "bytes"_a, "Raises ValueError: what is wrong, and where.")
      .def("finish", finish, "Raises ValueError as `feed`.")
      .def_prop_ro(
          "ids", [](BlockReader& reader) { return reader.trace().keys.size(); },
          "How many block ids were read and not yet taken by `touches`.")
      .def(
          "touches",
          [](BlockReader& reader) { return sim::Stream(std::move(reader.trace().keys)); },
          nb::call_guard<nb::gil_scoped_release>(), "Takes the block ids, as touches of one cache.")
      .def_prop_ro(
          "log", [](BlockReader& reader) -> AccessLog& { return reader.trace().log; },
          nb::rv_policy::reference_internal, "Accesses to bytes; empty for a trace of block ids.")
      .def_prop_ro("files", files_of, "Names of the files in `log`, by number.");
  nb::class_<Progress>(module, "Progress", "The progress of work in another thread.")
      .def(nb::init<>())
      .def_prop_ro("done", [](const Progress& progress) { return progress.done.load(); })
      .def("stop", [](Progress& progress) { progress.stop = true; });
  nb::class_<sim::Stream>(module, "Touches",
                          "The touches that caches are shown (src/sim/stream.h).")
      .def("__len__", &sim::Stream::touches)
      .def_prop_ro("pages", pages_of, "How many different pages each cache is shown.")
      .def_prop_ro("accesses", &sim::Stream::accesses,
                   "Accesses to each cache, those that went past it included.")
      .def_prop_ro("past_accesses", &sim::Stream::past_accesses,
                   "Accesses that went past a cache, wholly or in part.")
      .def_prop_ro("past_bytes", &sim::Stream::past_bytes, "Bytes that went past a cache.")
      .def("sampled", &sim::Stream::sampled, "low"_a, "high"_a,
           nb::call_guard<nb::gil_scoped_release>(),
           "The touches of pages whose marks, of 32 bits, are in [low, high).")
      .def(
          "simulate", simulate_stream, "policy"_a, "frames"_a, "progress"_a,
          "Hits, misses and evictions of caches with these numbers of frames. `informed` needs the "
          "accesses; `min`: Belady's MIN.");
  module.def("least_past", least_past, "bypass_bytes"_a, "capacity_bytes"_a,
             "Accesses of at least so many bytes go past a cache of the runtime.");
  module.def("original_touches", original, "log"_a, "page_bytes"_a, "most"_a, "cache_of"_a,
             "least_past"_a, "progress"_a, "pieces"_a = false,
             "The touches of the processes' own accesses, and with `pieces` these. None: they are "
             "more than `most`.");
  module.def(
      "aggregated_touches", aggregated, "log"_a, "page_bytes"_a, "most"_a, "aggregators"_a,
      "buffer_bytes"_a, "window_ns"_a, "least_past"_a, "progress"_a, "pieces"_a = false,
      "The touches of aggregators (src/sim/aggregation.h). None: they are more than `most`.");
}

}  // namespace forebay
