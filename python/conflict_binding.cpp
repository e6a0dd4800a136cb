// forebay._core: conflicting accesses of a trace. Only a binding; forebay.analysis documents its
// use.
#include "conflict_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>

#include "bytes.h"
#include "columns.h"
#include "trace/job_conflicts.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using trace::Conflict;
using trace::Conflicts;
using trace::FileAccess;
using trace::JobConflicts;
using trace::SharedBytes;
using trace::Sharing;
using trace::Views;

void add_to_job(JobConflicts& job, const Views* views, const Column<int32_t>& file,
                const Column<uint32_t>& process, const Column<uint32_t>& thread,
                const Column<int32_t>& open, const Column<uint8_t>& operation,
                const Column<int64_t>& offset, const Column<int64_t>& end,
                const Column<uint8_t>& contiguous, const Column<int32_t>& view,
                const Column<int64_t>& position, const Column<int64_t>& transferred,
                const Column<int64_t>& start_ns, const Column<int64_t>& end_ns,
                const Column<int64_t>& completed_ns) {
  rows_of(file, process, thread, open, operation, offset, end, contiguous, view, position,
          transferred, start_ns, end_ns, completed_ns);
  const trace::ConflictColumns columns{span_of(file),     span_of(process),     span_of(thread),
                                       span_of(open),     span_of(operation),   span_of(offset),
                                       span_of(end),      span_of(contiguous),  span_of(view),
                                       span_of(position), span_of(transferred), span_of(start_ns),
                                       span_of(end_ns),   span_of(completed_ns)};
  const nb::gil_scoped_release release;
  job.add(columns, views);
}

void merge(JobConflicts& job, JobConflicts& other) {
  expect(&other != &job, "conflicts cannot take in themselves");
  const nb::gil_scoped_release release;
  job.merge(std::move(other));
}

}  // namespace

void bind_conflicts(nb::module_& module) {
  nb::class_<FileAccess>(module, "FileAccess",
                         "An access, of one run of bytes (src/trace/conflicts.h).")
      .def_ro("process", &FileAccess::process)
      .def_ro("writes", &FileAccess::writes)
      .def_ro("offset", &FileAccess::offset)
      .def_ro("end", &FileAccess::end)
      .def_ro("start_ns", &FileAccess::start_ns)
      .def_ro("end_ns", &FileAccess::end_ns);
  nb::class_<Conflict>(module, "Conflict", "Two accesses of different processes to the same bytes.")
      .def_ro("first", &Conflict::first)
      .def_ro("second", &Conflict::second)
      .def_ro("offset", &Conflict::offset)
      .def_ro("end", &Conflict::end)
      .def_prop_ro("separation", [](const Conflict& c) { return static_cast<int>(c.separation); });
  nb::class_<SharedBytes>(module, "SharedBytes",
                          "Bytes that a set of processes touches (src/trace/sharing.h).")
      .def_ro("processes", &SharedBytes::processes)
      .def_ro("bytes", &SharedBytes::bytes)
      .def_ro("ranges", &SharedBytes::ranges)
      .def_prop_ro("begin", [](const SharedBytes& s) { return s.within.begin; })
      .def_prop_ro("end", [](const SharedBytes& s) { return s.within.end; });
  nb::class_<Sharing>(module, "Sharing", "The bytes that processes of a file share.")
      .def_ro("sets", &Sharing::sets)
      .def_ro("bytes", &Sharing::bytes)
      .def_ro("left_out", &Sharing::left_out);
  nb::class_<Conflicts>(module, "Conflicts",
                        "The conflicts of a file, by what separates the accesses.")
      .def_ro("counts", &Conflicts::counts)
      .def_ro("bytes", &Conflicts::bytes)
      .def_ro("examples", &Conflicts::examples)
      .def_ro("accesses_left_out", &Conflicts::accesses_left_out)
      .def_ro("sharing", &Conflicts::sharing);
  nb::class_<JobConflicts>(module, "JobConflicts",
                           "Finds the conflicts of a job's accesses (src/trace/job_conflicts.h).")
      .def(nb::init<uint64_t>(), "most_accesses"_a)
      .def("add", add_to_job, "views"_a.none(), "file"_a, "process"_a, "thread"_a, "opened"_a,
           "operation"_a, "offset"_a, "end"_a, "contiguous"_a, "view"_a, "position"_a,
           "transferred"_a, "start_ns"_a, "end_ns"_a, "completed_ns"_a)
      .def("merge", merge, "other"_a,
           "Takes over what was added to another; the threads must differ.")
      .def("finish", &JobConflicts::finish, nb::call_guard<nb::gil_scoped_release>(),
           "The number of each file, and its conflicts.")
      .def("__getstate__",
           [](const JobConflicts& job) {
             return written_by([&](trace::ByteWriter& writer) { job.write(writer); });
           })
      .def("__setstate__", [](JobConflicts& job, const nb::bytes& bytes) {
        new (&job) JobConflicts(0);
        trace::ByteReader reader(view_of(bytes));
        if (!job.read(reader)) throw nb::value_error("these are no accesses");
      });
}

}  // namespace forebay
