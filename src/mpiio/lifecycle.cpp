#include "mpiio/lifecycle.h"

#include <cstdio>
#include <cstdlib>

#include "mpiio/file/handle.h"
#include "mpiio/file/job_directory.h"
#include "mpiio/file/left_open.h"
#include "mpiio/job/job.h"
#include "mpiio/job/mistakes.h"
#include "mpiio/library/own_comm.h"
#include "mpiio/trace/statistics.h"
#include "mpiio/trace/tracing.h"

namespace forebay::mpiio {
namespace {

// Ends a program that was linked with the interposer but with no MPI library.
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
  join_node_early();
  find_directory_early();
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
  end_caching_together();
  report_statistics();
  finish_tracing(true);
  keep_comms_to_the_end();
  return mpi().Finalize();
}

int abort(MPI_Comm comm, int code) {
  (void)abandon_open_files();  // commits cached bytes: without Forebay they would survive
  finish_tracing(false);
  return mpi().Abort(comm, code);
}

}  // namespace forebay::mpiio
