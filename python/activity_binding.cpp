// forebay._core: when files were read and written. A binding only; forebay.phases says what is here
// for users.
#include "activity_binding.h"

#include "columns.h"
#include "trace/activity.h"
#include "trace/routine.h"
#include "trace/table.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using trace::Activity;

// The data accesses of a batch. Those that moved no bytes, or whose times are unknown, are counted.
void add(Activity& activity, const Column<int32_t>& file, const Column<uint8_t>& operation,
         const Column<uint8_t>& folded, const Column<int64_t>& transferred,
         const Column<int64_t>& start_ns, const Column<int64_t>& end_ns) {
  const std::size_t rows = rows_of(file, operation, folded, transferred, start_ns, end_ns);
  const auto files = span_of(file);
  const auto operations = span_of(operation), folds = span_of(folded);
  const auto moved = span_of(transferred), starts = span_of(start_ns), ends = span_of(end_ns);
  const nb::gil_scoped_release release;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto what = static_cast<trace::Operation>(operations[i]);
    if (what != trace::Operation::read && what != trace::Operation::write) continue;
    if (files[i] < 0) continue;
    if (moved[i] <= 0) {
      activity.leave_out_empty();
    } else if (folds[i] != 0 || starts[i] == trace::no_time || ends[i] == trace::no_time) {
      activity.leave_out_untimed();
    } else {
      activity.add(files[i], what == trace::Operation::write, starts[i], ends[i], moved[i]);
    }
  }
}

nb::list stretches(const Activity& activity, int64_t pause_ns) {
  nb::list all;
  for (const trace::Stretch& one : activity.stretches(pause_ns))
    all.append(
        nb::make_tuple(one.file, one.writes, one.start_ns, one.end_ns, one.accesses, one.bytes));
  return all;
}

}  // namespace

void bind_activity(nb::module_& module) {
  nb::class_<Activity>(module, "Activity", "When files were read and written.")
      .def(nb::init<>())
      .def("add", add, "file"_a, "operation"_a, "folded"_a, "transferred"_a, "start_ns"_a,
           "end_ns"_a)
      .def(
          "merge",
          [](Activity& activity, const Activity& other) {
            expect(&other != &activity, "an activity cannot take in itself");
            activity.merge(other);
          },
          "other"_a)
      .def("stretches", stretches, "pause_ns"_a,
           "File, whether it was written, start, end, accesses and bytes of each, by start.")
      .def_prop_ro(
          "left_out",
          [](const Activity& activity) {
            return nb::make_tuple(activity.left_out().empty, activity.left_out().untimed);
          },
          "Accesses in no stretch: those that moved no bytes, and those at unknown times.")
      .def("__getstate__",
           [](const Activity& activity) {
             trace::Bytes bytes;
             trace::ByteWriter writer(bytes);
             activity.write(writer);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__setstate__", [](Activity& activity, const nb::bytes& bytes) {
        new (&activity) Activity();
        trace::ByteReader reader({static_cast<const std::byte*>(bytes.data()), bytes.size()});
        if (!activity.read(reader)) throw nb::value_error("that is no activity");
      });
}

}  // namespace forebay
