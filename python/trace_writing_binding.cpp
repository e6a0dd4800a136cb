// forebay._core: writing trace files of processes that never ran. Only a binding.
#include "trace_writing_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bytes.h"
#include "columns.h"
#include "trace/writer.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

using trace::Writer;

void write_file(Writer& writer, uint32_t number, uint32_t ranks, int64_t amode,
                const std::string& path) {
  writer.file({number, amode, ranks, false, path});
}

void write_view(Writer& writer, uint32_t number, int64_t origin, int64_t extent,
                const std::vector<int64_t>& places,
                const std::vector<std::pair<int64_t, int64_t>>& steps, int64_t block) {
  LayoutRef layout = Layout::block(block);
  for (const auto& [count, stride] : steps) {
    if (layout != nullptr) layout = Layout::repeat(count, stride, std::move(layout));
  }
  if (layout != nullptr)
    layout = Layout::indexed(places, std::vector<int64_t>(places.size(), 1), 0, std::move(layout));
  if (layout == nullptr) throw nb::value_error("these blocks make no view");
  writer.view({number, {std::move(layout), origin, extent}});
}

void write_accesses(Writer& writer, const Column<uint8_t>& routine, const Column<uint32_t>& file,
                    const Column<uint32_t>& view, const Column<int64_t>& position,
                    const Column<int64_t>& size, const Column<int64_t>& start_ns,
                    const Column<int64_t>& end_ns) {
  rows_of(routine, file, view, position, size, start_ns, end_ns);
  if (!writer.calls({span_of(routine), span_of(file), span_of(view), span_of(position),
                     span_of(size), span_of(start_ns), span_of(end_ns)}))
    throw std::bad_alloc();
}

}  // namespace

void bind_trace_writing(nb::module_& module) {
  nb::class_<Writer>(module, "TraceWriter", "The trace file of one process (src/trace/writer.h).")
      .def(nb::init<const trace::ProcessInfo&>(), "process"_a)
      .def("file", write_file, "number"_a, "ranks"_a, "amode"_a, "path"_a)
      .def("view", write_view, "number"_a, "origin"_a, "extent"_a, "places"_a, "steps"_a, "block"_a,
           "`block` bytes at each of `places`, repeated by `steps` (number and distance, the "
           "innermost first), in every `extent` bytes.")
      .def("accesses", write_accesses, "routine"_a, "file"_a, "view"_a, "position"_a, "size"_a,
           "start_ns"_a, "end_ns"_a, "Adds calls in their order.")
      .def(
          "finish", [](Writer& writer) { return bytes_of(writer.finish()); },
          "Ends the file and returns its bytes.");
}

}  // namespace forebay
