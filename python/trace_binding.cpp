// forebay._core: reading traces. A binding only; forebay.trace says what is here for users.
#include "trace_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <utility>

#include "runtime/trace_reader.h"
#include "trace/layout_code.h"
#include "views.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using runtime::AccessStream;
using runtime::BadBlock;
using runtime::TraceProblem;
using runtime::TraceReader;

// What programs called things: any bytes.
nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

// Arrays that show the table's own memory and keep it alive.
nb::dict columns_of(nb::handle owner, trace::Table& table) {
  nb::dict columns;
  table.for_each_column([&]<typename Value>(const char* name, std::vector<Value>& column) {
    using Array = nb::ndarray<nb::numpy, const Value, nb::ndim<1>>;
    columns[name] = Array(column.data(), {column.size()}, owner).cast();
  });
  return columns;
}

// The runs of an access one after the other.
class Extents {
 public:
  Extents(Tiling tiling, int64_t position, int64_t bytes)
      : tiling_(std::move(tiling)), cursor_(tiling_, position), left_(bytes) {}
  std::pair<int64_t, int64_t> next() {
    if (left_ <= 0) throw nb::stop_iteration();
    const Extent run = cursor_.next(left_);
    left_ -= run.length;
    return {run.offset, run.length};
  }

 private:
  Tiling tiling_;
  Cursor cursor_;
  int64_t left_;
};

std::unique_ptr<Extents> extents_of(const Views& views, int64_t view, int64_t position,
                                    int64_t bytes) {
  if (view < 0 || static_cast<std::size_t>(view) >= views.tilings.size())
    throw nb::index_error("there is no such view");
  const Tiling& tiling = views.tilings[static_cast<std::size_t>(view)];
  if (trace::place_of(tiling, position, bytes).offset < 0)
    throw nb::value_error("the view has no such bytes");
  return std::make_unique<Extents>(tiling, position, bytes);
}

Views views_of(const TraceReader& reader) {
  Views views;
  for (const trace::JobView& view : reader.job().views()) views.tilings.push_back(view.tiling);
  return views;
}

nb::list encoded(const Views& views) {
  nb::list all;
  for (const Tiling& tiling : views.tilings) {
    trace::Bytes bytes;
    trace::ByteWriter writer(bytes);
    LayoutCode::write(tiling, writer);
    all.append(nb::bytes(bytes.data(), bytes.size()));
  }
  return all;
}

Views decoded(const std::vector<nb::bytes>& all) {
  Views views;
  for (const nb::bytes& one : all) {
    trace::ByteReader reader({static_cast<const std::byte*>(one.data()), one.size()});
    views.tilings.push_back(LayoutCode::read_tiling(reader));
    if (views.tilings.back().layout == nullptr || !reader.at_end())
      throw nb::value_error("that is no view");
  }
  return views;
}

// As forebay.trace.View has them.
nb::tuple facts_of(const Tiling& tiling) {
  return nb::make_tuple(tiling.origin, tiling.extent_bytes, tiling.layout->size(),
                        tiling.contiguous());
}

void bind_rows(nb::module_& module) {
  nb::class_<trace::Process>(module, "TraceProcess")
      .def_prop_ro("source", [](const trace::Process& p) { return bytes_of(p.source); })
      .def_prop_ro("host", [](const trace::Process& p) { return bytes_of(p.host); })
      .def_ro("rank", &trace::Process::rank)
      .def_ro("ranks", &trace::Process::ranks)
      .def_ro("pid", &trace::Process::pid)
      .def_ro("clock_offset_ns", &trace::Process::clock_offset_ns)
      .def_ro("zero_realtime_ns", &trace::Process::zero_realtime_ns)
      .def_ro("accesses", &trace::Process::accesses)
      .def_ro("folded", &trace::Process::folded)
      .def_ro("lost", &trace::Process::lost)
      .def_ro("damaged", &trace::Process::damaged)
      .def_ro("ended", &trace::Process::ended);
  nb::class_<trace::Open>(module, "TraceOpen")
      .def_ro("process", &trace::Open::process)
      .def_ro("number", &trace::Open::number)
      .def_ro("file", &trace::Open::file)
      .def_ro("ranks", &trace::Open::ranks)
      .def_ro("amode", &trace::Open::amode)
      .def_ro("cached", &trace::Open::cached);
  nb::class_<trace::Routine>(module, "TraceRoutine")
      .def_prop_ro("name", [](const trace::Routine& r) { return bytes_of(r.name); })
      .def_prop_ro("operation",
                   [](const trace::Routine& r) { return static_cast<int>(r.kind.operation); })
      .def_prop_ro("collective", [](const trace::Routine& r) { return r.kind.collective; })
      .def_prop_ro("nonblocking", [](const trace::Routine& r) { return r.kind.nonblocking; });
  nb::class_<TraceProblem>(module, "TraceProblem")
      .def_ro("file", &TraceProblem::file)
      .def_ro("text", &TraceProblem::text);
  nb::class_<BadBlock>(module, "BadBlock")
      .def_ro("process", &BadBlock::process)
      .def_ro("block", &BadBlock::block)
      .def_ro("accesses", &BadBlock::accesses)
      .def_ro("problem", &BadBlock::problem);
}

}  // namespace

void bind_trace(nb::module_& module) {
  bind_rows(module);
  nb::class_<trace::Table>(module, "TraceTable", "Accesses by columns.")
      .def(nb::init<>())
      .def("__len__", &trace::Table::size)
      .def(
          "columns",
          [](nb::pointer_and_handle<trace::Table> table) { return columns_of(table.h, *table.p); },
          "Every column, as a read-only array that shows the table's memory.");
  nb::class_<Extents>(module, "Extents", "Offset and length of each run of an access.")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &Extents::next);
  nb::class_<Views>(module, "Views", "File views, by number.")
      .def(
          "__init__",
          [](Views* self, const std::vector<nb::bytes>& all) { new (self) Views(decoded(all)); },
          "encoded"_a, "ValueError: some are no views.")
      .def("__len__", [](const Views& views) { return views.tilings.size(); })
      .def("encoded", encoded, "As bytes, as trace files have them, each.")
      .def(
          "facts",
          [](const Views& views) {
            nb::list all;
            for (const Tiling& tiling : views.tilings) all.append(facts_of(tiling));
            return all;
          },
          "Origin, bytes of a copy and of data in it, and whether it is one run, of each.")
      .def("extents", extents_of, "view"_a, "position"_a, "data_bytes"_a,
           "The runs of so many data bytes of a view.");
  nb::class_<TraceReader>(module, "TraceReader", "The trace files of a job.")
      .def(nb::new_([](const std::vector<nb::bytes>& names) {
             std::vector<std::string> paths;
             for (const nb::bytes& name : names) paths.emplace_back(name.c_str(), name.size());
             const nb::gil_scoped_release release;
             return std::make_shared<TraceReader>(paths);
           }),
           "paths"_a)
      .def_prop_ro("processes", [](const TraceReader& r) { return r.job().processes(); })
      .def_prop_ro("opens", [](const TraceReader& r) { return r.job().opens(); })
      .def_prop_ro("views", views_of)
      .def_prop_ro("view_processes",
                   [](const TraceReader& r) {
                     std::vector<uint32_t> processes;
                     for (const trace::JobView& view : r.job().views())
                       processes.push_back(view.process);
                     return processes;
                   })
      .def_prop_ro("routines", [](const TraceReader& r) { return r.job().routines(); })
      .def_prop_ro("files",
                   [](const TraceReader& r) {
                     nb::list paths;
                     for (const std::string& path : r.job().files()) paths.append(bytes_of(path));
                     return paths;
                   })
      .def_prop_ro("problems", &TraceReader::problems)
      .def_prop_ro("access_count", &TraceReader::access_count);
  nb::class_<AccessStream>(module, "AccessStream", "A trace's accesses, batch by batch.")
      .def(
          "__init__",
          [](AccessStream* self, std::shared_ptr<TraceReader> reader, uint32_t first,
             uint32_t end) { new (self) AccessStream(std::move(reader), first, end); },
          "reader"_a, "first_process"_a = 0, "end_process"_a = std::numeric_limits<uint32_t>::max())
      .def(
          "next",
          [](AccessStream& stream, std::size_t count) {
            trace::Table table;
            std::vector<BadBlock> bad;
            {
              const nb::gil_scoped_release release;
              stream.next(count, table, bad);
            }
            return nb::make_tuple(nb::cast(std::move(table)), nb::cast(std::move(bad)));
          },
          "count"_a, "At least so many accesses (0: all) while there are, and the bad blocks met.");
  nb::list operations;
  for (const std::string_view name : trace::operation_names) operations.append(nb::cast(name));
  module.attr("operations") = nb::tuple(operations);
  module.attr("no_time") = trace::no_time;
  module.attr("table_bytes_per_access") = trace::table_bytes_per_access;
  module.attr("most_accesses_in_block") = trace::most_accesses;
}

}  // namespace forebay
