#include "sim/cluster/process.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <utility>

namespace forebay::sim {
namespace {

constexpr std::size_t process_stack_bytes = 256 << 10;
thread_local Process* running_process = nullptr;

}  // namespace

Process::Process(Kernel& kernel, std::function<void()> work)
    : kernel_(kernel), work_(std::move(work)) {
  // Memory that is not touched costs nothing: there may be thousands of processes.
  void* const stack = mmap(nullptr, process_stack_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<std::byte*>(stack);
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = process_stack_bytes;
  context_.uc_link = nullptr;
  // makecontext passes ints only.
  const auto address = reinterpret_cast<uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(&Process::enter), 2,
              static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
  kernel_.after(0, {this, 0});
}

Process::~Process() { munmap(stack_, process_stack_bytes); }

Process* Process::current() { return running_process; }

void Process::enter(unsigned low, unsigned high) {
  auto* const process = reinterpret_cast<Process*>(static_cast<uintptr_t>(high) << 32 | low);
  try {
    process->work_();
  } catch (...) {
    process->failure_ = std::current_exception();
  }
  process->ended_ = true;
  process->give_way();
  std::abort();  // an ended process never goes on
}

void Process::happen(uint64_t) {
  Process* const before = std::exchange(running_process, this);
  swapcontext(&caller_, &context_);
  running_process = before;
}

void Process::give_way() { swapcontext(&context_, &caller_); }

void Process::sleep(Picoseconds delay) {
  kernel_.after(delay, {this, 0});
  give_way();
}

void Process::wait() {
  if (woken_ == 0) {
    waits_ = true;
    give_way();
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
