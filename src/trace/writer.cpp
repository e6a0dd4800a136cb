#include "trace/writer.h"

#include <vector>

namespace forebay::trace {

Writer::Writer(const ProcessInfo& process) {
  Container::begin(bytes_);
  container_.process(process, bytes_);
}

bool Writer::calls(const CallColumns& columns) {
  const std::size_t rows = columns.routine.size();
  std::vector<Access> block;
  for (std::size_t i = 0; i < rows; ++i) {
    Access access;
    access.start_ns = columns.start_ns[i];
    access.end_ns = access.completed_ns = columns.end_ns[i];
    access.position = columns.position[i];
    access.requested = access.transferred = columns.size[i];
    access.file = columns.file[i];
    access.view = columns.view[i];
    access.routine = columns.routine[i];
    block.push_back(access);
    if (block.size() < most_accesses && i + 1 < rows) continue;
    if (!container_.accesses(block, 0, Times::exact, bytes_)) return false;
    block.clear();
  }
  count_ += rows;
  return true;
}

const Bytes& Writer::finish() {
  container_.end({count_, 0}, bytes_);
  return bytes_;
}

}  // namespace forebay::trace
