// What an agent keeps of a handle whose ranks are on several nodes (handle_keeper.h), as a rank
// uses it. Any thread may use it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "agent/handle_keeper.h"
#include "agent/line.h"
#include "extent/extent.h"
#include "extent/status.h"

namespace forebay::agent {

class KeptHandle {
 public:
  // `keeper`: the line to the agent.
  explicit KeptHandle(std::shared_ptr<Line> keeper) : keeper_(std::move(keeper)) {}
  ~KeptHandle();
  KeptHandle(const KeptHandle&) = delete;
  KeptHandle& operator=(const KeptHandle&) = delete;

  // Before the first question: the same on all ranks of the handle, and for no other one.
  void set_name(uint64_t name) { name_ = name; }
  // The handle has another view, in which the shared pointer begins at 0.
  void begin_view() { ++views_; }

  // As KeeperQuestion's. A failure: the agent does not answer.
  Status load(int64_t* position);
  Status store(int64_t position);
  Status advance(int64_t bytes, int64_t* before);
  Status place(int64_t turn, int64_t bytes, int64_t* before);
  // Waits until the calling thread has the range.
  Status lock(const Extent& range, bool writes);
  void unlock();

 private:
  Status ask(KeeperQuestion question, int64_t* answer);

  std::shared_ptr<Line> keeper_;
  uint64_t name_ = 0;
  std::atomic<int64_t> views_{0};
  std::atomic<bool> used_{false};
  std::mutex access_;  // from lock() to unlock(): the agent knows one range of each rank
};

}  // namespace forebay::agent
