// A process of a simulated cluster: straight code that takes no time except where it waits. One
// runs at a time.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "sim/cluster/kernel.h"
#include "sim/cluster/own_stack.h"

namespace forebay::sim {

class Process final : public Event {
 public:
  // The process begins at the time of the call, once the kernel runs. What `work` throws ends the
  // process, and is its failure().
  Process(Kernel& kernel, std::function<void()> work);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The process that runs; null between processes.
  static Process* current();

  // Of the process that runs.
  void sleep(Picoseconds delay);
  // Waits until wake() is called, once for each call; an earlier wake() counts.
  void wait();

  void wake();
  bool ended() const { return ended_; }
  const std::exception_ptr& failure() const { return failure_; }
  Kernel& kernel() const { return kernel_; }

 private:
  void happen(uint64_t) override;   // the process goes on
  [[noreturn]] static void live();  // of the current process

  Kernel& kernel_;
  std::function<void()> work_;
  OwnStack stack_{&Process::live};
  uint64_t woken_ = 0;
  bool waits_ = false;
  bool ended_ = false;
  std::exception_ptr failure_;
};

// Something that happens once, for which one process may wait.
class Completion final : public Event {
 public:
  Then then() { return {this, 0}; }
  bool happened() const { return happened_; }
  void happen(uint64_t) override {
    happened_ = true;
    if (waiting_ != nullptr) waiting_->wake();
  }
  void wait() {
    if (happened_) return;
    waiting_ = Process::current();
    waiting_->wait();
  }

 private:
  bool happened_ = false;
  Process* waiting_ = nullptr;
};

// Several things that happen, for all of which one process may wait.
class Countdown final : public Event {
 public:
  void expect(int64_t more) { left_ += more; }
  void happen(uint64_t) override {
    if (--left_ == 0 && waiting_ != nullptr) std::exchange(waiting_, nullptr)->wake();
  }
  void wait() {
    if (left_ == 0) return;
    waiting_ = Process::current();
    waiting_->wait();
  }

 private:
  int64_t left_ = 0;
  Process* waiting_ = nullptr;
};

// Processes that wait until one of them, or another part of the cluster, wakes them.
class Queue {
 public:
  void wait();
  void wake_one();
  void wake_all();
  bool empty() const { return waiting_.empty(); }

 private:
  std::vector<Process*> waiting_;  // the first waits longest
};

}  // namespace forebay::sim
