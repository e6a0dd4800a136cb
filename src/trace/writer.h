// Writes the trace file of one process from columns of calls, for processes that never ran.
#pragma once

#include <cstdint>
#include <span>

#include "trace/container.h"

namespace forebay::trace {

// Calls of one thread in their order. Each moves all requested bytes before it returns.
struct CallColumns {
  std::span<const uint8_t> routine;
  std::span<const uint32_t> file, view;
  std::span<const int64_t> position, size, start_ns, end_ns;
};

class Writer {
 public:
  explicit Writer(const ProcessInfo& process);

  void file(const FileInfo& file) { container_.file(file, bytes_); }
  void view(const ViewInfo& view) { container_.view(view, bytes_); }
  // False: no memory.
  bool calls(const CallColumns& columns);
  // Ends the file and returns its bytes.
  const Bytes& finish();

 private:
  Bytes bytes_;
  Container container_;
  uint64_t count_ = 0;
};

}  // namespace forebay::trace
