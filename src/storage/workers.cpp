#include "storage/workers.h"

#include <signal.h>
#include <unistd.h>

namespace forebay {

Workers::~Workers() {
  if (forked()) {
    // Destroying a condition variable waits for its waiters, which the child does not have.
    static_cast<void>(changed_.release());
    return;
  }
  if (threads_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_->notify_all();
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
}

// In a forked child the locks are as some thread of the parent left them, so the child touches none
// of them.
bool Workers::forked() const { return owner_ != 0 && owner_ != getpid(); }

void Workers::run(std::size_t parts, const std::function<void(std::size_t)>& part) {
  std::unique_lock task(task_, std::defer_lock);
  if (parts < 2 || forked() || !task.try_lock()) {
    for (std::size_t i = 0; i < parts; ++i) part(i);
    return;
  }
  start_helpers();
  {
    const std::lock_guard lock(mutex_);
    next_.store(0, std::memory_order_relaxed);
    parts_ = parts;
    part_ = &part;
    open_ = true;
    ++task_number_;
  }
  changed_->notify_all();
  work(parts, part);
  std::unique_lock lock(mutex_);
  open_ = false;
  changed_->wait(lock, [this] { return joined_ == 0; });
}

void Workers::work(std::size_t parts, const std::function<void(std::size_t)>& part) {
  for (;;) {
    const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= parts) return;
    part(i);
  }
}

void Workers::start_helpers() {
  const std::lock_guard lock(mutex_);
  if (!threads_.empty()) return;
  threads_.reserve(static_cast<std::size_t>(wanted_));
  owner_ = getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < wanted_; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, helper_main, this) != 0) break;
    threads_.push_back(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void* Workers::helper_main(void* self) {
  static_cast<Workers*>(self)->help();
  return nullptr;
}

void Workers::help() {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_->wait(lock, [&] { return stopping_ || (open_ && task_number_ != seen); });
    if (stopping_) return;
    seen = task_number_;
    ++joined_;
    const std::size_t parts = parts_;
    const auto* const part = part_;
    lock.unlock();
    work(parts, *part);
    lock.lock();
    if (--joined_ == 0) changed_->notify_all();
  }
}

}  // namespace forebay
