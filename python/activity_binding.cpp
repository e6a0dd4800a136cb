// forebay._core: when files were read and written. Only a binding; forebay.analysis documents its
// use.
#include "activity_binding.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "bytes.h"
#include "columns.h"
#include "trace/activity.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using trace::Activity;

void add_to_activity(Activity& activity, const Column<int32_t>& file,
                     const Column<uint8_t>& operation, const Column<uint8_t>& folded,
                     const Column<int64_t>& transferred, const Column<int64_t>& start_ns,
                     const Column<int64_t>& end_ns) {
  rows_of(file, operation, folded, transferred, start_ns, end_ns);
  const trace::ActivityColumns columns{span_of(file),        span_of(operation), span_of(folded),
                                       span_of(transferred), span_of(start_ns),  span_of(end_ns)};
  const nb::gil_scoped_release release;
  activity.add(columns);
}

using StretchValues = std::tuple<int32_t, bool, int64_t, int64_t, uint64_t, uint64_t>;

std::vector<StretchValues> stretches(const Activity& activity, int64_t pause_ns) {
  std::vector<StretchValues> all;
  for (const trace::Stretch& one : activity.stretches(pause_ns))
    all.emplace_back(one.file, one.writes, one.start_ns, one.end_ns, one.accesses, one.bytes);
  return all;
}

}  // namespace

void bind_activity(nb::module_& module) {
  nb::class_<Activity>(module, "Activity",
                       "When files were read and written (src/trace/activity.h).")
      .def(nb::init<>())
      .def("add", add_to_activity, "file"_a, "operation"_a, "folded"_a, "transferred"_a,
           "start_ns"_a, "end_ns"_a, "The reads and writes among a batch's accesses.")
      .def(
          "merge",
          [](Activity& activity, const Activity& other) {
            expect(&other != &activity, "an activity cannot take in itself");
            activity.merge(other);
          },
          "other"_a)
      .def("stretches", stretches, "pause_ns"_a,
           "Stretches by start: file, whether it was written, start, end, accesses and bytes.")
      .def_prop_ro(
          "left_out",
          [](const Activity& activity) {
            return std::pair(activity.left_out().empty, activity.left_out().untimed);
          },
          "Accesses in no stretch: those that moved no bytes, and those at unknown times.")
      .def("__getstate__",
           [](const Activity& activity) {
             return written_by([&](trace::ByteWriter& writer) { activity.write(writer); });
           })
      .def("__setstate__", [](Activity& activity, const nb::bytes& bytes) {
        new (&activity) Activity();
        trace::ByteReader reader(view_of(bytes));
        if (!activity.read(reader)) throw nb::value_error("that is no activity");
      });
}

}  // namespace forebay
