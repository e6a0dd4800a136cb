#include "injected_faults.h"

#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "file_operations.h"
#include "inject.h"
#include "verification.h"

namespace random_io {
namespace {

// By the injector; without it, nothing happens.
void inject(int calls, int64_t nth, int64_t count, int64_t error, int how) {
  const auto arm = reinterpret_cast<inject_arm_function*>(dlsym(RTLD_DEFAULT, "inject_arm"));
  if (arm != nullptr) arm(nullptr, calls, nth, count, static_cast<int>(error), how);
}

}  // namespace

void make_storage_fail(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  rank.outcomes.allow(operation.error);
  if (!rank.among(operation.members)) return;
  // A failing device may have stored a part of the bytes.
  const int how = operation.error == EIO ? INJECT_FAIL_HALF : INJECT_FAIL;
  inject(static_cast<int>(operation.mode), operation.value, operation.length, operation.error, how);
}

void heal_storage(Rank& rank, const Planned& planned) {
  const auto disarm =
      reinterpret_cast<inject_disarm_function*>(dlsym(RTLD_DEFAULT, "inject_disarm"));
  if (disarm != nullptr) disarm();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int file = 0; file < kFiles; ++file) {
    FileModel& model = rank.planner.file(file);
    if (!model.exists || !rank.planner.storable(file)) continue;
    sync_everywhere(rank, planned, file);
    int64_t bytes = 0;
    if (rank.number() == 0) {
      struct stat information = {};
      if (stat(rank.path(file, 0).c_str(), &information) != 0) {
        rank.report.fail(planned, "the file is gone");
      }
      bytes = information.st_size;
      compare_file(rank, planned, file);
    }
    MPI_Bcast(&bytes, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    if (rank.settings.history != nullptr) {
      rank.settings.history->note_size(planned.operation.number, file, bytes);
    }
    model.resize(bytes);
  }
}

void arm_death(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  if (rank.settings.history == nullptr) return;
  rank.settings.history->of(rank.number()).doomed = true;
  if (!rank.among(operation.members)) return;
  if (operation.mode == kAtStorageCall) {
    const int calls = INJECT_WRITE | INJECT_READ | INJECT_FSYNC;
    inject(calls, operation.value, 1, 0, INJECT_KILL_BEFORE);
    return;
  }
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer;
  itimerspec when = {};
  when.it_value.tv_nsec = 1 + operation.value * 1000;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      timer_settime(timer, 0, &when, nullptr) != 0) {
    rank.report.fail(planned, "no timer");
  }
}

void kill_ranks(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  const History* history = rank.settings.history;
  if (history == nullptr || operation.members == 0) return;  // the life has just ended
  history->of(rank.number()).doomed = true;
  if (rank.among(operation.members)) {
    for (int other = 0; other < rank.planner.ranks() && operation.mode == kFirstKillsAll; ++other) {
      const pid_t victim = history->of(other).process;
      const bool chosen = (operation.members >> other & 1) != 0;
      if (chosen && other != rank.number() && victim > 0) ::kill(victim, SIGKILL);
    }
    raise(SIGKILL);
  }
  for (;;) pause();  // the launcher ends the other ranks, or the alarm does
}

}  // namespace random_io
