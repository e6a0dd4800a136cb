// forebay._core: conflicting accesses of a trace. A binding only; forebay.analysis says what is
// here for users.
#include "conflict_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <vector>

#include "columns.h"
#include "runtime/trace_reader.h"
#include "trace/conflicts.h"
#include "trace/routine.h"
#include "trace/table.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using trace::Conflict;
using trace::ConflictFinder;
using trace::Conflicts;
using trace::FileAccess;
using trace::Operation;

// Of a job: a finder for each file. An access of several runs is several, as far as the views of
// `reader` (which may be null) tell.
class JobConflicts {
 public:
  explicit JobConflicts(uint64_t most) : most_accesses_(most) {}

  void add(const runtime::TraceReader* reader, const Column<int32_t>& file,
           const Column<uint32_t>& process, const Column<uint8_t>& operation,
           const Column<int64_t>& offset, const Column<int64_t>& end,
           const Column<uint8_t>& contiguous, const Column<int32_t>& view,
           const Column<int64_t>& position, const Column<int64_t>& transferred,
           const Column<int64_t>& start_ns, const Column<int64_t>& end_ns) {
    const std::size_t rows = rows_of(file, process, operation, offset, end, contiguous, view,
                                     position, transferred, start_ns, end_ns);
    const nb::gil_scoped_release release;
    for (std::size_t i = 0; i < rows; ++i) {
      if (file.data()[i] < 0 || start_ns.data()[i] == trace::no_time) continue;
      ConflictFinder& finder = finders_.try_emplace(file.data()[i], most_accesses_).first->second;
      const uint32_t who = process.data()[i];
      const int64_t begins = start_ns.data()[i], ends = end_ns.data()[i];
      switch (const auto what = static_cast<Operation>(operation.data()[i])) {
        case Operation::sync:
          finder.sync(who, begins, ends);
          break;
        case Operation::open:
          finder.open(who, begins, ends);
          break;
        case Operation::close:
          finder.close(who, begins, ends);
          break;
        case Operation::read:
        case Operation::write: {
          if (offset.data()[i] < 0 || transferred.data()[i] <= 0) break;
          FileAccess access{who, what == Operation::write, offset.data()[i], end.data()[i], begins,
                            ends};
          if (contiguous.data()[i] != 0 || reader == nullptr)
            finder.access(access);
          else
            add_runs(finder, *reader, view.data()[i], position.data()[i], transferred.data()[i],
                     access);
          break;
        }
        default:
          break;
      }
    }
  }

  nb::list finish() {
    nb::list all;
    for (auto& [file, finder] : finders_) all.append(nb::make_tuple(file, finder.finish()));
    finders_.clear();
    return all;
  }

 private:
  static void add_runs(ConflictFinder& finder, const runtime::TraceReader& reader, int32_t view,
                       int64_t position, int64_t bytes, FileAccess access) {
    const auto& views = reader.job().views();
    if (view < 0 || static_cast<std::size_t>(view) >= views.size()) return;
    const Tiling& tiling = views[static_cast<std::size_t>(view)].tiling;
    if (trace::place_of(tiling, position, bytes).offset < 0) return;
    for (Cursor cursor(tiling, position); bytes > 0;) {
      const Extent run = cursor.next(bytes);
      bytes -= run.length;
      access.offset = run.offset;
      access.end = run.offset + run.length;
      finder.access(access);
    }
  }

  uint64_t most_accesses_;
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
  nb::class_<Conflicts>(module, "Conflicts", "The conflicts of a file, by what keeps them apart.")
      .def_prop_ro("counts",
                   [](const Conflicts& c) { return std::vector(c.counts.begin(), c.counts.end()); })
      .def_prop_ro("bytes",
                   [](const Conflicts& c) { return std::vector(c.bytes.begin(), c.bytes.end()); })
      .def_ro("examples", &Conflicts::examples)
      .def_ro("accesses_left_out", &Conflicts::accesses_left_out);
  nb::class_<JobConflicts>(module, "JobConflicts", "Finds the conflicts of a job's accesses.")
      .def(nb::init<uint64_t>(), "most_accesses"_a)
      .def("add", &JobConflicts::add, "reader"_a.none(), "file"_a, "process"_a, "operation"_a,
           "offset"_a, "end"_a, "contiguous"_a, "view"_a, "position"_a, "transferred"_a,
           "start_ns"_a, "end_ns"_a)
      .def("finish", &JobConflicts::finish, "File and conflicts, of each.");
}

}  // namespace forebay
