#include "sim/cluster/process.h"

#include <cstdlib>
#include <utility>

namespace forebay::sim {
namespace {

thread_local Process* running_process = nullptr;

}  // namespace

Process::Process(Kernel& kernel, std::function<void()> work)
    : kernel_(kernel), work_(std::move(work)) {
  kernel_.after(0, {this, 0});
}

Process* Process::current() { return running_process; }

void Process::live() {
  Process& process = *current();
  try {
    process.work_();
  } catch (...) {
    process.failure_ = std::current_exception();
  }
  process.ended_ = true;
  process.stack_.leave();
  std::abort();  // an ended process never goes on
}

void Process::happen(uint64_t) {
  Process* const before = std::exchange(running_process, this);
  stack_.enter();
  running_process = before;
}

void Process::sleep(Picoseconds delay) {
  kernel_.after(delay, {this, 0});
  stack_.leave();
}

void Process::wait() {
  if (woken_ == 0) {
    waits_ = true;
    stack_.leave();
  }
  --woken_;
}

void Process::wake() {
  ++woken_;
  if (std::exchange(waits_, false)) kernel_.after(0, {this, 0});
}

void Queue::wait() {
  waiting_.push_back(Process::current());
  Process::current()->wait();
}

void Queue::wake_one() {
  if (waiting_.empty()) return;
  Process* const first = waiting_.front();
  waiting_.erase(waiting_.begin());
  first->wake();
}

void Queue::wake_all() {
  for (Process* const process : std::exchange(waiting_, {})) process->wake();
}

}  // namespace forebay::sim
