#include "sim/fibers.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace forebay::sim {
namespace {

constexpr std::size_t stack_bytes = 256 << 10;
constexpr int64_t longest_pause_ns = 8'000'000;
constexpr int pause_scales = 10;  // the longest, half of it, and so on: each as often

thread_local Fibers* in_this_thread = nullptr;

}  // namespace

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

// A time at which a fiber goes on, or something is done for a group.
struct Fibers::Alarm {
  int64_t at;
  uint64_t order;
  Fiber* fiber;  // null: act() is called
  uint64_t wait;
  Group group;
  std::function<void()> act;
  // Of a heap with the earliest at its head.
  bool operator<(const Alarm& other) const {
    return std::pair(at, order) > std::pair(other.at, other.order);
  }
};

Fibers::Fibers(uint64_t seed, int64_t steps_a_switch, int64_t steps_a_pause)
    : random_(seed),
      steps_a_switch_(steps_a_switch),
      steps_a_pause_(steps_a_pause),
      outside_(std::make_unique<Fiber>()) {}
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

void Fibers::set_alarm(Alarm alarm) {
  alarms_.push_back(std::move(alarm));
  std::push_heap(alarms_.begin(), alarms_.end());
}

void Fibers::ring(const Alarm& alarm) {
  const bool meant = alarm.fiber == nullptr ? !is_dead(alarm.group)
                                            : alarm.fiber->state == Fiber::State::waiting &&
                                                  alarm.fiber->wait == alarm.wait;
  if (!meant) return;
  now_ns_ = std::max(now_ns_, alarm.at);
  note(static_cast<uint64_t>(now_ns_));
  if (alarm.fiber == nullptr) return alarm.act();
  if (alarm.fiber->queue != nullptr) std::erase(alarm.fiber->queue->waiting_, alarm.fiber);
  make_ready(alarm.fiber);
}

// The next fiber that can run, when time has moved on as far as that takes; null: none can.
Fibers::Fiber* Fibers::take_next() {
  while (ready_.empty() && !alarms_.empty()) {
    std::pop_heap(alarms_.begin(), alarms_.end());
    const Alarm alarm = std::move(alarms_.back());
    alarms_.pop_back();
    ring(alarm);
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

void Fibers::step(Spot spot) {
  ++steps_;
  const Group group = running_->group;
  const bool doomed = doomed_ == any_group ? group != 0 : group == doomed_;
  if (steps_to_doom_ > 0 && doomed && (doomed_at_ == Spot::other || doomed_at_ == spot) &&
      --steps_to_doom_ == 0)
    kill(group);
  if (steps_a_pause_ > 0 && random_.one_in(steps_a_pause_))
    return sleep(1 + random_.below(longest_pause_ns >> random_.below(pause_scales)));
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
  if (ns != forever) set_alarm({now_ns_ + ns, steps_, &fiber, fiber.wait, fiber.group, {}});
  suspend();
  return fiber.woken;
}

void Fibers::wake(Queue& queue) {
  for (Fiber* fiber : std::exchange(queue.waiting_, {})) {
    fiber->woken = true;
    make_ready(fiber);
  }
}

void Fibers::wait(Event& event) {
  while (!event.happened_) wait(event.queue_);
}

void Fibers::happen(Event& event) {
  event.happened_ = true;
  wake(event.queue_);
}

void Fibers::schedule(Group group, int64_t ns, std::function<void()> act) {
  set_alarm({now_ns_ + ns, ++steps_, nullptr, 0, group, std::move(act)});
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

void Fibers::kill_after(Group group, int64_t steps, Spot spot) {
  doomed_ = group;
  doomed_at_ = spot;
  steps_to_doom_ = steps;
}

}  // namespace forebay::sim
