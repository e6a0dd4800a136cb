#include <pthread.h>

#include <exception>

#include "runtime/node/node_member.h"
#include "storage/held_signals.h"

namespace forebay::runtime {

Helper::~Helper() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    stop_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Helper::submit(const void* owner, std::function<void()> job) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (const auto& waiting : jobs_) {
    if (waiting.first == owner) return;
  }
  jobs_.emplace_back(owner, std::move(job));
  if (!thread_.joinable()) {
    const HeldSignals held;
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::exception&) {
      jobs_.clear();  // no thread can be started: the threads that need the work do it
    }
  }
  lock.unlock();  // else the helper, woken, would wait for the mutex, and be woken once more
  changed_.notify_all();
}

void Helper::cancel(const void* owner) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::erase_if(jobs_, [owner](const auto& waiting) { return waiting.first == owner; });
  changed_.wait(lock, [&] { return running_ != owner; });
}

void Helper::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    auto [owner, job] = std::move(jobs_.front());
    jobs_.pop_front();
    running_ = owner;
    lock.unlock();
    const Status ignored = within_memory([&work = job] { work(); });
    (void)ignored;  // the threads that need the work do it
    job = nullptr;
    lock.lock();
    running_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace forebay::runtime
