#include "sim/fibers.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace forebay::sim {
namespace {

constexpr std::size_t stack_bytes = 256 << 10;

thread_local Fibers* in_this_thread = nullptr;

}  // namespace

// Splitmix64.
uint64_t SeededRandom::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

struct Fibers::Fiber {
  enum class State : uint8_t { ready, running, waiting, ended, dead };
  ucontext_t context;
  std::unique_ptr<std::byte[]> stack;
  std::function<void()> work;
  Group group = 0;
  uint32_t number = 0;
  State state = State::ready;
  Queue* queue = nullptr;  // in which it waits, if any
  uint64_t wait = 0;       // counts its waits: tells a sleeper's entry from an older one
  bool woken = false;
};

struct Fibers::Sleeper {
  int64_t until;
  uint64_t order;
  Fiber* fiber;
  uint64_t wait;
  // Of a heap with the earliest at its head.
  bool operator<(const Sleeper& other) const {
    return std::pair(until, order) > std::pair(other.until, other.order);
  }
};

Fibers::Fibers(uint64_t seed, int64_t steps_a_switch)
    : random_(seed), steps_a_switch_(steps_a_switch), outside_(std::make_unique<Fiber>()) {}
Fibers::~Fibers() = default;

Fibers* Fibers::current() { return in_this_thread; }
Fibers::Group Fibers::group() const { return running_->group; }

void Fibers::spawn(Group group, std::function<void()> work) {
  auto fiber = std::make_unique<Fiber>();
  fiber->group = group;
  fiber->number = static_cast<uint32_t>(fibers_.size());
  fiber->work = std::move(work);
  if (free_stacks_.empty()) {
    fiber->stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
  } else {
    fiber->stack = std::move(free_stacks_.back());
    free_stacks_.pop_back();
  }
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = stack_bytes;
  fiber->context.uc_link = nullptr;
  // makecontext passes ints only.
  const auto address = reinterpret_cast<uintptr_t>(fiber.get());
  makecontext(&fiber->context, reinterpret_cast<void (*)()>(&Fibers::enter), 2,
              static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
  ready_.push_back(fiber.get());
  fibers_.push_back(std::move(fiber));
}

void Fibers::enter(unsigned low, unsigned high) {
  auto* const fiber = reinterpret_cast<Fiber*>(static_cast<uintptr_t>(high) << 32 | low);
  fiber->work();
  Fibers& fibers = *in_this_thread;
  fiber->state = Fiber::State::ended;
  fibers.ended_ = fiber;
  fibers.suspend();
  std::abort();  // an ended fiber is never switched to
}

bool Fibers::run(uint64_t most_steps) {
  last_step_ = most_steps > UINT64_MAX - steps_ ? UINT64_MAX : steps_ + most_steps;
  Fibers* const before = std::exchange(in_this_thread, this);
  running_ = outside_.get();
  if (Fiber* const first = take_next()) switch_to(first);
  in_this_thread = before;
  return std::ranges::all_of(fibers_, [](const auto& fiber) {
    return fiber->state == Fiber::State::ended || fiber->state == Fiber::State::dead;
  });
}

void Fibers::switch_to(Fiber* next) {
  Fiber* const from = std::exchange(running_, next);
  if (next != outside_.get()) {
    next->state = Fiber::State::running;
    note(next->number + 1);
  }
  swapcontext(&from->context, &next->context);
  // On the stack of the fiber that goes on.
  if (ended_ != nullptr) free_stacks_.push_back(std::move(ended_->stack));
  ended_ = nullptr;
}

// The next fiber that can run, when time has moved on as far as that takes; null: none can.
Fibers::Fiber* Fibers::take_next() {
  while (ready_.empty() && !sleepers_.empty()) {
    std::pop_heap(sleepers_.begin(), sleepers_.end());
    const Sleeper sleeper = sleepers_.back();
    sleepers_.pop_back();
    Fiber& fiber = *sleeper.fiber;
    if (fiber.state != Fiber::State::waiting || fiber.wait != sleeper.wait) continue;
    now_ns_ = std::max(now_ns_, sleeper.until);
    note(static_cast<uint64_t>(now_ns_));
    if (fiber.queue != nullptr) std::erase(fiber.queue->waiting_, &fiber);
    make_ready(&fiber);
  }
  if (ready_.empty()) return nullptr;
  std::swap(ready_[static_cast<std::size_t>(random_.below(std::ssize(ready_)))], ready_.back());
  Fiber* const next = ready_.back();
  ready_.pop_back();
  return next;
}

// The fiber that runs has noted why it does not.
void Fibers::suspend() {
  Fiber* const next = steps_ < last_step_ ? take_next() : nullptr;
  if (next == running_) {
    running_->state = Fiber::State::running;
    return;
  }
  switch_to(next != nullptr ? next : outside_.get());
}

void Fibers::make_ready(Fiber* fiber) {
  fiber->state = Fiber::State::ready;
  fiber->queue = nullptr;
  ready_.push_back(fiber);
}

void Fibers::step() {
  ++steps_;
  if (steps_to_doom_ > 0 && running_->group == doomed_ && --steps_to_doom_ == 0) kill(doomed_);
  const bool last = steps_ >= last_step_;
  if (!last && (ready_.empty() || (steps_a_switch_ > 1 && !random_.one_in(steps_a_switch_))))
    return;
  make_ready(running_);
  suspend();
}

void Fibers::sleep(int64_t ns) {
  Queue none;
  wait(none, ns);
}

bool Fibers::wait(Queue& queue, int64_t ns) {
  Fiber& fiber = *running_;
  fiber.state = Fiber::State::waiting;
  fiber.queue = &queue;
  fiber.woken = false;
  ++fiber.wait;
  ++steps_;
  queue.waiting_.push_back(&fiber);
  if (ns != forever) {
    sleepers_.push_back({now_ns_ + ns, steps_, &fiber, fiber.wait});
    std::push_heap(sleepers_.begin(), sleepers_.end());
  }
  suspend();
  return fiber.woken;
}

void Fibers::wake(Queue& queue) {
  for (Fiber* fiber : std::exchange(queue.waiting_, {})) {
    fiber->woken = true;
    make_ready(fiber);
  }
}

void Fibers::kill(Group group) {
  for (const auto& fiber : fibers_) {
    if (fiber->group != group || fiber->state == Fiber::State::ended) continue;
    if (fiber->queue != nullptr) std::erase(fiber->queue->waiting_, fiber.get());
    fiber->state = Fiber::State::dead;
  }
  std::erase_if(ready_, [](const Fiber* fiber) { return fiber->state == Fiber::State::dead; });
  note(~uint64_t{group});
  if (dead_.size() <= group) dead_.resize(group + 1);
  dead_[group] = true;
  if (running_->state == Fiber::State::dead) {
    suspend();
    std::abort();  // a dead fiber is never switched to
  }
}

void Fibers::kill_after(Group group, int64_t steps) {
  doomed_ = group;
  steps_to_doom_ = steps;
}

}  // namespace forebay::sim
