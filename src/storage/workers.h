// Helper threads that share the independent parts of tasks with the threads that wait for them.
// They start when a task finds too few of them idle, with all signals blocked (so that the
// program's handlers run in the program's threads), and are joined on destruction.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace forebay {

class Workers {
 public:
  // part(i), to be called once for every i in [0, parts), by the thread that waits and at most so
  // many helpers. It stays in place, and so do its workers, from begin() to finish().
  class Task {
   public:
    Task(std::size_t parts, std::function<void(std::size_t)> part, int most_helpers)
        : parts_(parts), part_(std::move(part)), most_helpers_(most_helpers) {}
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

   private:
    friend class Workers;
    const std::size_t parts_;
    const std::function<void(std::size_t)> part_;
    const int most_helpers_;
    std::atomic<std::size_t> next_{0};  // first part that was not taken
    // Guarded by the workers' mutex:
    int joined_ = 0;         // helpers that ever worked on it
    int helpers_ = 0;        // working on it
    bool queued_ = false;    // helpers may join
    Task* later_ = nullptr;  // the next in the queue
  };

  Workers() : conditions_(std::make_unique<Conditions>()) {}
  // Those of all files of the process: threads outlast a file, since programs open many. Never
  // destroyed.
  static Workers& of_process();
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Any thread may call these. begin(): helpers take the task's parts, after those of earlier
  // tasks. finish(): takes parts, too, and returns when all calls have returned. Without helpers
  // (no thread can be made, or after a fork) finish() runs all parts.
  void begin(Task& task);
  void finish(Task& task);

 private:
  struct Conditions {
    std::condition_variable work;   // for helpers: there is a task, or the end
    std::condition_variable ended;  // for finish(): no helper works on a task any more
  };

  bool forked() const;
  static void* helper_main(void* self);
  void help();
  void start_helpers(std::size_t wanted);
  static void work(Task& task);
  void leave_queue(Task& task);

  std::atomic<pid_t> owner_{0};  // process that made the threads; a forked child has none of them

  std::mutex mutex_;  // guards the members below
  std::unique_ptr<Conditions> conditions_;
  std::vector<pthread_t> threads_;
  std::size_t busy_ = 0;  // of them
  bool stopping_ = false;
  Task* first_ = nullptr;  // the queue of tasks that helpers may join
};

}  // namespace forebay
