#include "mpiio/lifecycle.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "mpiio/file/handle.h"
#include "mpiio/file/open_close.h"
#include "mpiio/job/job.h"
#include "mpiio/job/mistakes.h"
#include "mpiio/library/own_comm.h"
#include "mpiio/trace/statistics.h"
#include "mpiio/trace/tracing.h"
#include "runtime/cached_file.h"

namespace forebay::mpiio {
namespace {

// A program linked with the interposer and with no MPI library.
void require_library() {
  if (mpi().Init != nullptr) return;
  std::fputs("forebay: no MPI library is loaded; link the program with the MPI's own wrapper\n",
             stderr);
  std::_Exit(EXIT_FAILURE);
}

void begin() {
  learn_thread_level();
  tell_of_environment();
  begin_tracing(true);
}

// What is not committed here, because a call is under way in another thread or was interrupted by
// the signal handler that ends the process, is left to the committer, as if this process had been
// killed.
bool end_caching() {
  if (!abandon_open_files()) return false;
  runtime::leave_node();
  return true;
}

}  // namespace

int init(int* argc, char*** argv) {
  require_library();
  const int code = mpi().Init(argc, argv);
  if (code == MPI_SUCCESS) begin();
  return code;
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  require_library();
  const int code = mpi().Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) begin();
  return code;
}

int finalize() {
  if (!end_caching()) forget_open_files();  // some call was left by a longjmp
  report_statistics();
  finish_tracing(true);
  keep_comms_to_the_end();
  return mpi().Finalize();
}

int abort(MPI_Comm comm, int code) {
  (void)abandon_open_files();  // bytes written by the plain library would survive
  finish_tracing(false);
  return mpi().Abort(comm, code);
}

void learn_thread_level() {
  int initialized = 0;
  int finalized = 0;
  int level = MPI_THREAD_MULTIPLE;
  mpi().Initialized(&initialized);
  mpi().Finalized(&finalized);
  if (initialized && !finalized && mpi().Query_thread(&level) == MPI_SUCCESS)
    many_threads.store(level == MPI_THREAD_MULTIPLE, std::memory_order_relaxed);
}

void commit_at_exit() {
  // A forked child inherits the handles but is not the program.
  static const pid_t program = getpid();
  static const int registered = std::atexit([] {
    if (getpid() == program) (void)end_caching();
  });
  (void)registered;
}

}  // namespace forebay::mpiio
