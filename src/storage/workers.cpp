#include "storage/workers.h"

#include <unistd.h>

#include <algorithm>

#include "storage/held_signals.h"

namespace forebay {
namespace {

constexpr std::size_t most_threads = 64;

}  // namespace

Workers& Workers::of_process() {
  static Workers* const workers = new Workers;
  return *workers;
}

Workers::~Workers() {
  if (forked()) {
    // Destroying a condition variable waits for its waiters, which the child does not have.
    static_cast<void>(conditions_.release());
    return;
  }
  if (threads_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  conditions_->work.notify_all();
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
}

// In a forked child the locks are as some thread of the parent left them, so the child touches none
// of them.
bool Workers::forked() const { return owner_ != 0 && owner_ != getpid(); }

void Workers::begin(Task& task) {
  if (forked()) return;
  {
    const std::lock_guard lock(mutex_);
    start_helpers(std::min(busy_ + static_cast<std::size_t>(task.most_helpers_), most_threads));
    Task** end = &first_;
    while (*end != nullptr) end = &(*end)->later_;
    *end = &task;
    task.queued_ = true;
  }
  for (int i = 0; i < task.most_helpers_; ++i) conditions_->work.notify_one();
}

void Workers::finish(Task& task) {
  work(task);
  if (forked()) return;
  std::unique_lock lock(mutex_);
  leave_queue(task);
  conditions_->ended.wait(lock, [&task] { return task.helpers_ == 0; });
}

void Workers::work(Task& task) {
  for (;;) {
    const std::size_t i = task.next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= task.parts_) return;
    task.part_(i);
  }
}

void Workers::leave_queue(Task& task) {
  if (!task.queued_) return;
  Task** at = &first_;
  while (*at != &task) at = &(*at)->later_;
  *at = task.later_;
  task.queued_ = false;
}

void Workers::start_helpers(std::size_t wanted) {
  if (threads_.size() >= wanted) return;
  threads_.reserve(wanted);
  owner_ = getpid();
  const HeldSignals held;
  while (threads_.size() < wanted) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, helper_main, this) != 0) break;
    threads_.push_back(thread);
  }
}

void* Workers::helper_main(void* self) {
  static_cast<Workers*>(self)->help();
  return nullptr;
}

void Workers::help() {
  std::unique_lock lock(mutex_);
  for (;;) {
    conditions_->work.wait(lock, [this] { return stopping_ || first_ != nullptr; });
    if (stopping_) return;
    Task& task = *first_;
    ++task.helpers_;
    ++busy_;
    if (++task.joined_ == task.most_helpers_) leave_queue(task);
    lock.unlock();
    work(task);
    lock.lock();
    --busy_;
    leave_queue(task);  // all its parts are taken
    if (--task.helpers_ == 0) conditions_->ended.notify_all();
  }
}

}  // namespace forebay
