// Helper threads that share the independent parts of one task with the calling thread. They start
// when first needed, with all signals blocked (so that the program's handlers run in the program's
// threads), and are joined on destruction.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace forebay {

class Workers {
 public:
  explicit Workers(int helpers)
      : wanted_(helpers), changed_(std::make_unique<std::condition_variable>()) {}
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Calls part(i) once for every i in [0, parts), from this thread and from helpers. Returns when
  // all calls have returned. Any thread may call; while one task is shared with the helpers,
  // another task runs in its caller alone. Without helpers (no thread can be made, or after a fork)
  // the caller runs all parts.
  void run(std::size_t parts, const std::function<void(std::size_t)>& part);

 private:
  bool forked() const;
  static void* helper_main(void* self);
  void help();
  void start_helpers();
  void work(std::size_t parts, const std::function<void(std::size_t)>& part);

  const int wanted_;
  std::atomic<pid_t> owner_{0};  // process that made the threads; a forked child has none of them
  std::mutex task_;              // held by the caller that shares its task

  std::mutex mutex_;  // guards the members below
  std::unique_ptr<std::condition_variable> changed_;
  std::vector<pthread_t> threads_;
  bool stopping_ = false;
  bool open_ = false;  // there is a task that helpers may join
  uint64_t task_number_ = 0;
  int joined_ = 0;  // helpers working on it
  std::size_t parts_ = 0;
  const std::function<void(std::size_t)>* part_ = nullptr;

  std::atomic<std::size_t> next_{0};  // first part that was not taken
};

}  // namespace forebay
