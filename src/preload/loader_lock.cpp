// The lock has no interface, and a mutex of this library would deadlock with it: a constructor run
// by dlopen takes the lock first and the mutex second, other threads the other way round. But dlsym
// holds the lock while it asks an indirect function (STT_GNU_IFUNC) for its address, so the
// function runs there.
#include "preload/loader_lock.h"

#include "preload/hooks.h"

namespace forebay::preload {
namespace {

struct Task {
  void (*function)(void*);
  void* argument;
};

thread_local Task* current_task = nullptr;

}  // namespace

void with_loader_lock(void* self, void (*function)(void*), void* argument) {
  Task task{function, argument};
  Task* outer = current_task;
  current_task = &task;
  real_dlsym()(self, "forebay_preload_locked");
  current_task = outer;
}

extern "C" {

using Function = void();

// Not static: otherwise not every compiler gives it the name by which the attribute below finds it.
Function* forebay_run_current_task() {
  if (Task* task = current_task) {
    current_task = nullptr;
    task->function(task->argument);
  }
  return nullptr;
}

[[gnu::visibility("default"), gnu::ifunc("forebay_run_current_task")]] void
forebay_preload_locked();
}

}  // namespace forebay::preload
