// Marks a write to storage in the file's entry, so that recovery can tell our writes from those of
// others.
#pragma once

#include "runtime/clock.h"
#include "runtime/registry.h"
#include "storage/storage.h"

namespace forebay::runtime {

class NotedWrite {
 public:
  // `ask`: the file system is asked for the file's new time of modification afterwards.
  NotedWrite(LastChange& change, Storage& storage, bool ask)
      : change_(change), storage_(storage), ask_(ask) {
    change_.being_written.fetch_add(1);
  }
  ~NotedWrite() {
    change_.written_ns.store(now_ns(CLOCK_REALTIME_COARSE), std::memory_order_relaxed);
    if (ask_) {
      const int64_t modified = storage_.modified_ns();
      int64_t known = change_.modified_ns.load();
      while (known < modified && !change_.modified_ns.compare_exchange_weak(known, modified)) {
      }
    }
    change_.being_written.fetch_sub(1);
  }
  NotedWrite(const NotedWrite&) = delete;
  NotedWrite& operator=(const NotedWrite&) = delete;

 private:
  LastChange& change_;
  Storage& storage_;
  const bool ask_;
};

}  // namespace forebay::runtime
