// forebay._core: trace files of made-up processes. A binding only.
#include "trace_writing_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "columns.h"
#include "trace/container.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace forebay {

namespace {

// One process's trace file.
class TraceWriter {
 public:
  explicit TraceWriter(const trace::ProcessInfo& process) {
    trace::Container::begin(bytes_);
    container_.process(process, bytes_);
  }

  void file(uint32_t number, uint32_t ranks, int64_t amode, const std::string& path) {
    container_.file({number, amode, ranks, false, path}, bytes_);
  }

  void view(uint32_t number, int64_t origin, int64_t extent, int64_t count, int64_t stride,
            int64_t block) {
    LayoutRef layout = Layout::repeat(count, stride, Layout::block(block));
    if (layout == nullptr) throw nb::value_error("these blocks make no view");
    container_.view({number, {std::move(layout), origin, extent}}, bytes_);
  }

  void accesses(const Column<uint8_t>& routine, const Column<uint32_t>& file,
                const Column<uint32_t>& view, const Column<int64_t>& position,
                const Column<int64_t>& size, const Column<int64_t>& start_ns,
                const Column<int64_t>& end_ns) {
    const std::size_t rows = rows_of(routine, file, view, position, size, start_ns, end_ns);
    std::vector<trace::Access> block;
    for (std::size_t i = 0; i < rows; ++i) {
      trace::Access access;
      access.start_ns = start_ns.data()[i];
      access.end_ns = access.completed_ns = end_ns.data()[i];
      access.position = position.data()[i];
      access.requested = access.transferred = size.data()[i];
      access.file = file.data()[i];
      access.view = view.data()[i];
      access.routine = routine.data()[i];
      block.push_back(access);
      if (block.size() == trace::most_accesses || i + 1 == rows) write(block);
    }
    count_ += rows;
  }

  nb::bytes finish() {
    container_.end({count_, 0}, bytes_);
    return nb::bytes(bytes_.data(), bytes_.size());
  }

 private:
  void write(std::vector<trace::Access>& block) {
    if (!container_.accesses(block, 0, trace::Times::exact, bytes_)) throw std::bad_alloc();
    block.clear();
  }

  trace::Bytes bytes_;
  trace::Container container_;
  uint64_t count_ = 0;
};

}  // namespace

void bind_trace_writing(nb::module_& module) {
  nb::class_<TraceWriter>(module, "TraceWriter", "The trace file of one process (src/trace).")
      .def(nb::init<const trace::ProcessInfo&>(), "process"_a)
      .def("file", &TraceWriter::file, "number"_a, "ranks"_a, "amode"_a, "path"_a)
      .def("view", &TraceWriter::view, "number"_a, "origin"_a, "extent"_a, "count"_a, "stride"_a,
           "block"_a, "`count` blocks of `block` bytes, `stride` apart, of every `extent` bytes.")
      .def("accesses", &TraceWriter::accesses, "routine"_a, "file"_a, "view"_a, "position"_a,
           "size"_a, "start_ns"_a, "end_ns"_a, "Calls in their order.")
      .def("finish", &TraceWriter::finish, "The bytes of the file.");
}

}  // namespace forebay
