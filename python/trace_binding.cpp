// forebay._core: reading traces. Only a binding; forebay.trace documents its use.
#include "trace_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bytes.h"
#include "runtime/trace/trace_reader.h"
#include "trace/layout_code.h"
#include "trace/views.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using runtime::AccessStream;
using runtime::BadBlock;
using runtime::TraceProblem;
using runtime::TraceReader;
using trace::Runs;
using trace::Views;

template <typename Value>
using ColumnView = nb::ndarray<nb::numpy, const Value, nb::ndim<1>>;

// Arrays over the table's own memory. They keep the table alive.
nb::dict columns_of(nb::pointer_and_handle<trace::Table> table) {
  nb::dict columns;
  table.p->for_each_column([&]<typename Value>(const char* name, std::vector<Value>& column) {
    columns[name] = ColumnView<Value>(column.data(), {column.size()}, table.h).cast();
  });
  return columns;
}

std::unique_ptr<Runs> extents_of(const Views& views, int64_t view, int64_t position,
                                 int64_t bytes) {
  const Tiling* const tiling = views.find(view);
  if (tiling == nullptr) throw nb::index_error("there is no such view");
  auto runs = std::make_unique<Runs>(*tiling, position, bytes);
  if (!runs->exist()) throw nb::value_error("the view has no such bytes");
  return runs;
}

std::pair<int64_t, int64_t> next_of(Runs& runs) {
  Extent run;
  if (!runs.next(run)) throw nb::stop_iteration();
  return {run.offset, run.length};
}

Views views_of(const TraceReader& reader) {
  Views views;
  for (const trace::JobView& view : reader.job().views()) views.tilings.push_back(view.tiling);
  return views;
}

std::vector<nb::bytes> encoded(const Views& views) {
  std::vector<nb::bytes> all;
  for (const Tiling& tiling : views.tilings)
    all.push_back(
        written_by([&](trace::ByteWriter& writer) { LayoutCode::write(tiling, writer); }));
  return all;
}

Views decoded(const std::vector<nb::bytes>& all) {
  Views views;
  for (const nb::bytes& one : all) {
    trace::ByteReader reader(view_of(one));
    views.tilings.push_back(LayoutCode::read_tiling(reader));
    if (views.tilings.back().layout == nullptr || !reader.at_end())
      throw nb::value_error("that is no view");
  }
  return views;
}

// The members of forebay.trace.View: origin, extent, data bytes of a copy, whether it is
// contiguous.
using Facts = std::tuple<int64_t, int64_t, int64_t, bool>;

std::vector<Facts> facts_of(const Views& views) {
  std::vector<Facts> all;
  for (const Tiling& tiling : views.tilings)
    all.emplace_back(tiling.origin, tiling.extent_bytes, tiling.layout->size(),
                     tiling.contiguous());
  return all;
}

std::vector<nb::bytes> all_bytes_of(const std::vector<std::string>& texts) {
  std::vector<nb::bytes> all;
  for (const std::string& text : texts) all.push_back(bytes_of(text));
  return all;
}

std::vector<std::string> texts_of(const std::vector<nb::bytes>& all) {
  std::vector<std::string> texts;
  for (const nb::bytes& one : all) texts.push_back(text_of(one));
  return texts;
}

std::vector<uint32_t> view_processes(const TraceReader& reader) {
  std::vector<uint32_t> processes;
  for (const trace::JobView& view : reader.job().views()) processes.push_back(view.process);
  return processes;
}

std::pair<trace::Table, std::vector<BadBlock>> next_batch(AccessStream& stream, std::size_t count) {
  std::pair<trace::Table, std::vector<BadBlock>> batch;
  const nb::gil_scoped_release release;
  stream.next(count, batch.first, batch.second);
  return batch;
}

void bind_rows(nb::module_& module) {
  nb::class_<trace::Process>(module, "TraceProcess",
                             "One process of a trace (src/trace/job.h, like the next classes).")
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
  nb::class_<trace::Open>(module, "TraceOpen", "One open of a file by one process.")
      .def_ro("process", &trace::Open::process)
      .def_ro("number", &trace::Open::number)
      .def_ro("file", &trace::Open::file)
      .def_ro("ranks", &trace::Open::ranks)
      .def_ro("amode", &trace::Open::amode)
      .def_ro("cached", &trace::Open::cached);
  nb::class_<trace::Routine>(module, "TraceRoutine", "An MPI-IO routine.")
      .def_prop_ro("name", [](const trace::Routine& r) { return bytes_of(r.name); })
      .def_prop_ro("operation",
                   [](const trace::Routine& r) { return static_cast<int>(r.kind.operation); })
      .def_prop_ro("collective", [](const trace::Routine& r) { return r.kind.collective; })
      .def_prop_ro("nonblocking", [](const trace::Routine& r) { return r.kind.nonblocking; });
  nb::class_<TraceProblem>(module, "TraceProblem", "What is wrong with a trace file.")
      .def_ro("file", &TraceProblem::file)
      .def_ro("text", &TraceProblem::text);
  nb::class_<BadBlock>(module, "BadBlock", "A block whose contents are wrong.")
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
      .def("columns", columns_of,
           nb::sig("def columns(self) -> dict[str, numpy.typing.NDArray[typing.Any]]"),
           "Every column, as a read-only array over the table's memory.");
  nb::class_<Runs>(module, "Extents", "Offset and length of each run of an access.")
      .def("__iter__",
           [](nb::handle_t<Runs> self) { return nb::typed<nb::object, Runs>(nb::borrow(self)); })
      .def("__next__", next_of);
  nb::class_<Views>(module, "Views", "File views, by number.")
      .def(
          "__init__",
          [](Views* self, const std::vector<nb::bytes>& all) { new (self) Views(decoded(all)); },
          "encoded"_a, "Decodes views. ValueError: some are not views.")
      .def("__len__", [](const Views& views) { return views.tilings.size(); })
      .def("encoded", encoded, "The bytes of each view, as in trace files.")
      .def(
          "facts", facts_of,
          "For each view: its origin, the bytes of a copy, the data bytes in it, and whether it is "
          "contiguous.")
      .def("extents", extents_of, "view"_a, "position"_a, "data_bytes"_a,
           "The runs of `data_bytes` data bytes of a view from `position` on.");
  nb::class_<TraceReader>(module, "TraceReader", "The trace files of a job.")
      .def(nb::new_([](const std::vector<nb::bytes>& names) {
             const std::vector<std::string> paths = texts_of(names);
             const nb::gil_scoped_release release;
             return std::make_shared<TraceReader>(paths);
           }),
           "paths"_a)
      .def_prop_ro("processes", [](const TraceReader& r) { return r.job().processes(); })
      .def_prop_ro("opens", [](const TraceReader& r) { return r.job().opens(); })
      .def_prop_ro("views", views_of)
      .def_prop_ro("view_processes", view_processes)
      .def_prop_ro("routines", [](const TraceReader& r) { return r.job().routines(); })
      .def_prop_ro("files", [](const TraceReader& r) { return all_bytes_of(r.job().files()); })
      .def_prop_ro("problems", &TraceReader::problems)
      .def_prop_ro("access_count", &TraceReader::access_count);
  nb::class_<AccessStream>(module, "AccessStream", "A trace's accesses, batch by batch.")
      .def(
          "__init__",
          [](AccessStream* self, std::shared_ptr<TraceReader> reader, uint32_t first,
             uint32_t end) { new (self) AccessStream(std::move(reader), first, end); },
          "reader"_a, "first_process"_a = 0, "end_process"_a = std::numeric_limits<uint32_t>::max())
      .def("next", next_batch, "count"_a,
           "At least `count` accesses (0: all), or those that are left, and the bad blocks found.");
  nb::list operations;
  for (const std::string_view name : trace::operation_names) operations.append(nb::cast(name));
  module.attr("operations") = nb::tuple(operations);
  module.attr("no_time") = trace::no_time;
  module.attr("table_bytes_per_access") = trace::table_bytes_per_access;
  module.attr("most_accesses_in_block") = trace::most_accesses;
}

}  // namespace forebay
