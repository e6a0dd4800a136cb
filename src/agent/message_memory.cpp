#include "agent/message_memory.h"

#include <algorithm>

namespace forebay::agent {

void MessageMemory::take(int64_t bytes) {
  if (bytes == 0) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return taken_ == 0 || taken_ + bytes <= most_bytes_; });
  taken_ += bytes;
  highest_ = std::max(highest_, taken_);
}

void MessageMemory::give_back(int64_t bytes) {
  if (bytes == 0) return;
  {
    const std::lock_guard guard(mutex_);
    taken_ -= bytes;
  }
  changed_.notify_all();
}

int64_t MessageMemory::highest() const {
  const std::lock_guard guard(mutex_);
  return highest_;
}

}  // namespace forebay::agent
