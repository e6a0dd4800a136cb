#include "mpiio/trace/rank_clocks.h"

#include "mpiio/job/job.h"
#include "mpiio/library/mpi_library.h"
#include "runtime/node/clock.h"

namespace forebay::mpiio {
namespace {

constexpr int rounds = 10;
constexpr int tag = 0;

// Answers each of the other's questions with this process's time.
void answer(MPI_Comm comm, int other) {
  for (int round = 0; round < rounds; ++round) {
    int64_t time = 0;
    mpi().Recv(&time, 1, mpi().int64, other, tag, comm, MPI_STATUS_IGNORE);
    time = runtime::now_ns();
    mpi().Send(&time, 1, mpi().int64, other, tag, comm);
  }
}

// Asks for the other's time. The answer is taken as the time half-way between question and answer;
// the quickest answer counts.
int64_t ask(MPI_Comm comm, int other) {
  int64_t offset = 0;
  int64_t quickest = INT64_MAX;
  for (int round = 0; round < rounds; ++round) {
    int64_t theirs = 0;
    const int64_t before = runtime::now_ns();
    mpi().Send(&theirs, 1, mpi().int64, other, tag, comm);
    mpi().Recv(&theirs, 1, mpi().int64, other, tag, comm, MPI_STATUS_IGNORE);
    const int64_t took = runtime::now_ns() - before;
    if (took >= quickest) continue;
    quickest = took;
    offset = theirs - (before + took / 2);
  }
  return offset;
}

}  // namespace

int64_t clock_offset() {
  MPI_Comm real_node = mpi().comm_null;
  MPI_Comm node = mpi().comm_null;
  MPI_Comm leaders = mpi().comm_null;
  int rank = 0, rank_on_node = 0;
  mpi().Comm_rank(mpi().comm_world, &rank);
  mpi().Comm_split_type(mpi().comm_world, MPI_COMM_TYPE_SHARED, 0, mpi().info_null, &real_node);
  mpi().Comm_split(real_node, static_cast<int>(node_identity() & INT32_MAX), rank, &node);
  mpi().Comm_free(&real_node);
  mpi().Comm_rank(node, &rank_on_node);
  mpi().Comm_split(mpi().comm_world, rank_on_node == 0 ? 0 : MPI_UNDEFINED, rank, &leaders);
  int64_t offset = 0;
  if (leaders != mpi().comm_null) {
    int leader = 0, nodes = 1;
    mpi().Comm_rank(leaders, &leader);
    mpi().Comm_size(leaders, &nodes);
    if (leader != 0) offset = ask(leaders, 0);
    for (int other = 1; leader == 0 && other < nodes; ++other) answer(leaders, other);
    mpi().Comm_free(&leaders);
  }
  mpi().Bcast(&offset, 1, mpi().int64, 0, node);
  mpi().Comm_free(&node);
  return offset;
}

}  // namespace forebay::mpiio
