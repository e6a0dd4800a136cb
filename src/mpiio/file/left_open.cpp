#include "mpiio/file/left_open.h"

#include <unistd.h>

#include <cstdlib>

#include "mpiio/file/handle.h"
#include "mpiio/file/job_directory.h"
#include "mpiio/file/open_close.h"
#include "mpiio/library/agreement.h"
#include "runtime/cache/cached_file.h"

namespace forebay::mpiio {
namespace {

// `everywhere`: what other nodes own is committed, too.
bool abandon(bool everywhere) {
  bool alone = !HandlesChange::under_way();
  // A thread that comes to a handle later must wait for its lock, which is kept.
  many_threads.store(true);
  open_handles.for_each([&alone](Handle& handle) { alone = alone && try_lock(handle); });
  if (!alone) return false;
  // Nothing is discarded: the library deletes no file that is not closed.
  open_handles.for_each([everywhere](Handle& handle) {
    if (everywhere && handle.job_file != nullptr) (void)handle.job_file->commit_everywhere(false);
    if (everywhere && handle.guests != nullptr) (void)handle.guests->commit_everywhere(false);
    (void)leave_cache(handle, false);
  });
  forget_open_files();
  return true;
}

}  // namespace

bool abandon_open_files() { return abandon(false); }

void forget_open_files() {
  while (Handle* open = open_handles.any()) {
    // The handle is not destroyed: that would free types through MPI, which may have ended. The
    // process ends soon.
    (void)open_handles.remove(open->file).release();
  }
}

bool end_caching() {
  if (!abandon_open_files()) return false;
  runtime::leave_node();
  return true;
}

void end_caching_together() {
  // What the program still does with its files, in callbacks of MPI_Finalize, the library carries
  // out: it finds all bytes in storage.
  const bool abandoned = abandon(true);
  // A node's agent ends with its ranks, and other nodes' ranks may still need it.
  if (job_has_directory()) wait_for_all(mpi().comm_world);
  if (abandoned)
    runtime::leave_node();
  else
    forget_open_files();  // the program left a call by a longjmp
}

void commit_at_exit() {
  // A forked child inherits the handles, but must not commit for the program.
  static const pid_t program = getpid();
  static const int registered = std::atexit([] {
    if (getpid() == program) (void)end_caching();
  });
  (void)registered;
}

}  // namespace forebay::mpiio
