// forebay._core: conflicting accesses of a trace. A binding only; forebay.analysis says what is
// here for users.
#include "conflict_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "columns.h"
#include "trace/conflicts.h"
#include "trace/job.h"
#include "trace/order.h"
#include "trace/routine.h"
#include "trace/table.h"
#include "views.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using trace::Conflict;
using trace::ConflictFinder;
using trace::Conflicts;
using trace::Ending;
using trace::FileAccess;
using trace::FileMoment;
using trace::Operation;
using trace::SharedBytes;
using trace::Sharing;

// Of a job: the order of its threads, and a finder for each file. An access of several runs is
// several, as far as `views` (which may be null) tell.
class JobConflicts {
 public:
  explicit JobConflicts(uint64_t most) : most_accesses_(most) {}

  void add(const Views* views, const Column<int32_t>& file, const Column<uint32_t>& process,
           const Column<uint32_t>& thread, const Column<int32_t>& open,
           const Column<uint8_t>& operation, const Column<int64_t>& offset,
           const Column<int64_t>& end, const Column<uint8_t>& contiguous,
           const Column<int32_t>& view, const Column<int64_t>& position,
           const Column<int64_t>& transferred, const Column<int64_t>& start_ns,
           const Column<int64_t>& end_ns, const Column<int64_t>& completed_ns) {
    const std::size_t rows =
        rows_of(file, process, thread, open, operation, offset, end, contiguous, view, position,
                transferred, start_ns, end_ns, completed_ns);
    const auto files = span_of(file);
    const auto processes = span_of(process);
    const auto threads = span_of(thread);
    const auto opens = span_of(open);
    const auto operations = span_of(operation);
    const auto offsets = span_of(offset);
    const auto range_ends = span_of(end);
    const auto contiguity = span_of(contiguous);
    const auto view_numbers = span_of(view);
    const auto positions = span_of(position);
    const auto moved = span_of(transferred);
    const auto starts = span_of(start_ns);
    const auto ended = span_of(end_ns);
    const auto completed = span_of(completed_ns);
    const nb::gil_scoped_release release;
    ConflictFinder* latest = nullptr;
    int32_t latest_file = -1;
    for (std::size_t i = 0; i < rows; ++i) {
      const auto what = static_cast<Operation>(operations[i]);
      if (starts[i] == trace::no_time) continue;
      if (trace::orders(what)) {
        order_.collective(processes[i], threads[i],
                          {.key = static_cast<uint64_t>(positions[i]),
                           .releases = what != Operation::acquire,
                           .acquires = what != Operation::release,
                           .start_ns = starts[i]});
        continue;
      }
      if (files[i] < 0) continue;
      if (latest == nullptr || files[i] != latest_file)
        latest = &finders_.try_emplace(files[i], most_accesses_).first->second;
      latest_file = files[i];
      ConflictFinder& finder = *latest;
      const auto mark = [&] {
        return FileMoment{processes[i], threads[i], opens[i],
                          order_.mark(processes[i], threads[i], starts[i])};
      };
      switch (what) {
        case Operation::sync:
          finder.sync(mark());
          break;
        case Operation::open:
          finder.open(mark());
          break;
        case Operation::close:
          finder.close(mark());
          break;
        case Operation::read:
        case Operation::write: {
          if (offsets[i] < 0 || moved[i] <= 0) break;
          FileAccess access{.process = processes[i],
                            .thread = threads[i],
                            .open = opens[i],
                            .moment = order_.moment(processes[i], threads[i], starts[i]),
                            .writes = what == Operation::write,
                            .offset = offsets[i],
                            .end = range_ends[i],
                            .start_ns = starts[i],
                            .end_ns = std::max(ended[i], completed[i])};
          if (completed[i] == trace::no_time)
            access.ending = Ending::unknown;
          else if (completed[i] > ended[i])
            access.ending = Ending::later;
          if (contiguity[i] != 0 || views == nullptr)
            finder.access(access);
          else
            add_runs(finder, *views, view_numbers[i], positions[i], moved[i], access);
          break;
        }
        default:
          break;
      }
    }
  }

  void merge(JobConflicts& other) {
    expect(&other != this, "conflicts cannot take in themselves");
    const nb::gil_scoped_release release;
    for (auto& [file, finder] : other.finders_)
      finders_.try_emplace(file, most_accesses_).first->second.merge(std::move(finder));
    other.finders_.clear();
    order_.merge(std::move(other.order_));
  }

  // Bytes of the order; file and bytes of each finder.
  nb::tuple state() const {
    nb::list all;
    for (const auto& [file, finder] : finders_) {
      trace::Bytes bytes;
      trace::ByteWriter writer(bytes);
      finder.write(writer);
      all.append(nb::make_tuple(file, nb::bytes(bytes.data(), bytes.size())));
    }
    trace::Bytes bytes;
    trace::ByteWriter writer(bytes);
    order_.write(writer);
    return nb::make_tuple(most_accesses_, nb::bytes(bytes.data(), bytes.size()), all);
  }

  void set_state(const nb::bytes& order, const std::vector<std::pair<int32_t, nb::bytes>>& all) {
    trace::ByteReader of_order({static_cast<const std::byte*>(order.data()), order.size()});
    if (!order_.read(of_order)) throw nb::value_error("this is no order");
    for (const auto& [file, bytes] : all) {
      trace::ByteReader reader({static_cast<const std::byte*>(bytes.data()), bytes.size()});
      if (!finders_.try_emplace(file, most_accesses_).first->second.read(reader))
        throw nb::value_error("these are no accesses");
    }
  }

  std::vector<std::pair<int32_t, Conflicts>> finish() {
    const nb::gil_scoped_release release;
    std::vector<std::pair<int32_t, Conflicts>> all;
    order_.resolve();
    for (auto& [file, finder] : finders_) all.emplace_back(file, finder.finish(order_));
    finders_.clear();
    return all;
  }

 private:
  static void add_runs(ConflictFinder& finder, const Views& views, int32_t view, int64_t position,
                       int64_t bytes, FileAccess access) {
    if (view < 0 || static_cast<std::size_t>(view) >= views.tilings.size()) return;
    const Tiling& tiling = views.tilings[static_cast<std::size_t>(view)];
    if (trace::place_of(tiling, position, bytes).offset < 0) return;
    for (Cursor cursor(tiling, position); bytes > 0;) {
      const Extent run = cursor.next(bytes);
      bytes -= run.length;
      access.offset = run.offset;
      access.end = run.offset + run.length;
      if (!finder.access(access)) return;
      access.continued = true;
    }
  }

  uint64_t most_accesses_;
  trace::Order order_;
  std::map<int32_t, ConflictFinder> finders_;
};

}  // namespace

void bind_conflicts(nb::module_& module) {
  nb::class_<FileAccess>(module, "FileAccess", "An access, of one run of bytes.")
      .def_ro("process", &FileAccess::process)
      .def_ro("writes", &FileAccess::writes)
      .def_ro("offset", &FileAccess::offset)
      .def_ro("end", &FileAccess::end)
      .def_ro("start_ns", &FileAccess::start_ns)
      .def_ro("end_ns", &FileAccess::end_ns);
  nb::class_<Conflict>(module, "Conflict", "Two accesses to the same bytes.")
      .def_ro("first", &Conflict::first)
      .def_ro("second", &Conflict::second)
      .def_ro("offset", &Conflict::offset)
      .def_ro("end", &Conflict::end)
      .def_prop_ro("separation", [](const Conflict& c) { return static_cast<int>(c.separation); });
  nb::class_<SharedBytes>(module, "SharedBytes", "Bytes that a set of processes touches.")
      .def_ro("processes", &SharedBytes::processes)
      .def_ro("bytes", &SharedBytes::bytes)
      .def_ro("ranges", &SharedBytes::ranges)
      .def_prop_ro("begin", [](const SharedBytes& s) { return s.within.begin; })
      .def_prop_ro("end", [](const SharedBytes& s) { return s.within.end; });
  nb::class_<Sharing>(module, "Sharing", "The bytes that processes of a file share.")
      .def_ro("sets", &Sharing::sets)
      .def_ro("bytes", &Sharing::bytes)
      .def_ro("left_out", &Sharing::left_out);
  nb::class_<Conflicts>(module, "Conflicts", "The conflicts of a file, by what keeps them apart.")
      .def_prop_ro("counts",
                   [](const Conflicts& c) { return std::vector(c.counts.begin(), c.counts.end()); })
      .def_prop_ro("bytes",
                   [](const Conflicts& c) { return std::vector(c.bytes.begin(), c.bytes.end()); })
      .def_ro("examples", &Conflicts::examples)
      .def_ro("accesses_left_out", &Conflicts::accesses_left_out)
      .def_ro("sharing", &Conflicts::sharing);
  nb::class_<JobConflicts>(module, "JobConflicts", "Finds the conflicts of a job's accesses.")
      .def(nb::init<uint64_t>(), "most_accesses"_a)
      .def("add", &JobConflicts::add, "views"_a.none(), "file"_a, "process"_a, "thread"_a,
           "opened"_a, "operation"_a, "offset"_a, "end"_a, "contiguous"_a, "view"_a, "position"_a,
           "transferred"_a, "start_ns"_a, "end_ns"_a, "completed_ns"_a)
      .def("__getstate__", &JobConflicts::state)
      .def("__setstate__",
           [](JobConflicts& self,
              const std::tuple<uint64_t, nb::bytes, std::vector<std::pair<int32_t, nb::bytes>>>&
                  state) {
             new (&self) JobConflicts(std::get<0>(state));
             self.set_state(std::get<1>(state), std::get<2>(state));
           })
      .def("merge", &JobConflicts::merge, "other"_a, "Takes what was added to another.")
      .def("finish", &JobConflicts::finish, "File and conflicts, of each.");
}

}  // namespace forebay
