#include "sim/cluster/kernel.h"

#include <algorithm>

namespace forebay::sim {

void Kernel::at(Picoseconds time, Then then) {
  const Entry entry{std::max(time, now_), set_++, then};
  std::size_t place = heap_.size();
  heap_.push_back(entry);
  while (place > 0) {
    const std::size_t parent = (place - 1) / children;
    if (!entry.before(heap_[parent])) break;
    heap_[place] = heap_[parent];
    place = parent;
  }
  heap_[place] = entry;
}

Kernel::Entry Kernel::take_first() {
  const Entry first = heap_.front();
  const Entry last = heap_.back();
  heap_.pop_back();
  const std::size_t size = heap_.size();
  if (size == 0) return first;
  std::size_t place = 0;
  for (;;) {
    const std::size_t begin = place * children + 1;
    if (begin >= size) break;
    const std::size_t end = std::min(begin + children, size);
    std::size_t least = begin;
    for (std::size_t child = begin + 1; child < end; ++child) {
      if (heap_[child].before(heap_[least])) least = child;
    }
    if (!heap_[least].before(last)) break;
    heap_[place] = heap_[least];
    place = least;
  }
  heap_[place] = last;
  return first;
}

void Kernel::let_watch(Picoseconds until) {
  while (watch_at_ <= until) {
    now_ = std::max(now_, watch_at_);
    watch_at_ = std::numeric_limits<Picoseconds>::max();
    watcher_->happen(0);
  }
}

bool Kernel::run(uint64_t most) {
  for (; most > 0 && !heap_.empty(); --most) {
    const Entry next = take_first();
    if (watch_at_ <= next.time) let_watch(next.time);
    now_ = next.time;
    ++happened_;
    next.then.happen();
  }
  return heap_.empty();
}

}  // namespace forebay::sim
