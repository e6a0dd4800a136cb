// Rank 0 writes, and the last rank reads the same bytes as soon as a file tells it to: the order is
// lucky, unless collectives of the program ensure it. Repeats this for each of these ways, on
// FILE.WAY; the writer syncs before and the reader after it:
//   nothing     only that file
//   zero        an MPI_Allreduce of no elements
//   message     a message, which nobody records
//   barrier     MPI_Barrier
//   posix       MPI_Barrier, without the syncs
//   once        a sync, without anything else
//   reopened    MPI_Barrier, between a close and an open
//   nonblocking MPI_Ibarrier, waited for
//   tested      MPI_Ibarrier, tested for
//   later       MPI_Ibarrier, waited for only after the reading
//   reduce      MPI_Reduce to the last rank
//   gather      MPI_Gather to the last rank
//   without     MPI_Gatherv to the last rank, to which the first gives nothing
//   bcast       MPI_Bcast from the last rank: it waits for nobody
//   scatter     MPI_Scatter from the first rank
//   allgather   MPI_Allgather
//   alltoall    MPI_Alltoall
//   some        MPI_Alltoallv, in which the first rank gives the last nothing
//   deal        MPI_Reduce_scatter_block
//   iallreduce  MPI_Iallreduce, waited for among others
//   grid        a communicator of MPI_Cart_create
//   split       a communicator of these two, made by MPI_Comm_split of a duplicate
//   chain       by way of communicators of neighbours, one after the other
//   backwards   the same, the last ones first
//   group       a communicator of MPI_Comm_create_group, of which nobody knows the number
// Argument: FILE.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { RANKS = 3 };

static int rank, ranks;

static int is(const char* how, const char* name) { return strcmp(how, name) == 0; }

// Pairs of neighbours meet, one pair after the other.
static void chain(int backwards) {
  for (int i = 0; i + 1 < ranks; ++i) {
    const int pair = backwards ? ranks - 2 - i : i;
    MPI_Comm neighbours;
    const int in = rank == pair || rank == pair + 1;
    MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, rank, &neighbours);
    if (in) {
      MPI_Barrier(neighbours);
      MPI_Comm_free(&neighbours);
    }
  }
}

static void order(const char* how) {
  const int last = ranks - 1;
  int number = rank, sum = 0, many[RANKS] = {0};
  const int counts[RANKS] = {0, 1, 1}, places[RANKS] = {0, 1, 2};
  if (is(how, "zero")) {
    MPI_Allreduce(&number, &sum, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  } else if (is(how, "message")) {
    if (rank == 0) MPI_Send(&number, 1, MPI_INT, last, 0, MPI_COMM_WORLD);
    if (rank == last) MPI_Recv(&sum, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is(how, "barrier") || is(how, "posix") || is(how, "reopened")) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(how, "nonblocking") || is(how, "tested")) {
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    int done = 0;
    while (is(how, "tested") && !done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (is(how, "reduce")) {
    MPI_Reduce(&number, &sum, 1, MPI_INT, MPI_SUM, last, MPI_COMM_WORLD);
    CHECK(rank != last || sum == ranks * (ranks - 1) / 2);
  } else if (is(how, "gather")) {
    MPI_Gather(&number, 1, MPI_INT, many, 1, MPI_INT, last, MPI_COMM_WORLD);
    CHECK(rank != last || many[last] == last);
  } else if (is(how, "without")) {
    MPI_Gatherv(&number, counts[rank], MPI_INT, many, counts, places, MPI_INT, last,
                MPI_COMM_WORLD);
    CHECK(rank != last || many[last] == last);
  } else if (is(how, "bcast")) {
    MPI_Bcast(&number, 1, MPI_INT, last, MPI_COMM_WORLD);
    CHECK(number == last);
  } else if (is(how, "scatter")) {
    MPI_Scatter(places, 1, MPI_INT, &number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(number == rank);
  } else if (is(how, "allgather")) {
    MPI_Allgather(&number, 1, MPI_INT, many, 1, MPI_INT, MPI_COMM_WORLD);
    CHECK(many[last] == last);
  } else if (is(how, "alltoall")) {
    MPI_Alltoall(places, 1, MPI_INT, many, 1, MPI_INT, MPI_COMM_WORLD);
    CHECK(many[0] == rank);
  } else if (is(how, "some")) {
    const int ones[RANKS] = {1, 1, 1}, none[RANKS] = {0, 0, 0};
    MPI_Alltoallv(places, rank == 0 ? none : ones, places, MPI_INT, many, counts, places, MPI_INT,
                  MPI_COMM_WORLD);
    CHECK(many[last] == rank);
  } else if (is(how, "deal")) {
    MPI_Reduce_scatter_block(places, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == ranks * rank);
  } else if (is(how, "iallreduce")) {
    MPI_Request requests[2];
    MPI_Isend(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Iallreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv(many, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(sum == ranks * (ranks - 1) / 2);
  } else if (is(how, "grid")) {
    MPI_Comm grid;
    const int whole = 0;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &whole, 1, &grid);
    MPI_Barrier(grid);
    MPI_Comm_free(&grid);
  } else if (is(how, "split")) {
    MPI_Comm copy, ends;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    const int end = rank == 0 || rank == last;
    MPI_Comm_split(copy, end, rank, &ends);
    if (end) MPI_Barrier(ends);
    MPI_Comm_free(&ends);
    MPI_Comm_free(&copy);
  } else if (is(how, "chain") || is(how, "backwards")) {
    chain(is(how, "backwards"));
  } else if (is(how, "group")) {
    MPI_Group all;
    MPI_Comm copy;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Group_free(&all);
  } else {
    CHECK(is(how, "nothing") || is(how, "once"));
  }
}

static MPI_File open_file(const char* name) {
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  return file;
}

static void tell(const char* name) {
  FILE* const told = fopen(name, "w");
  CHECK(told != NULL);
  fclose(told);
}

static void write_and_read(const char* prefix, const char* how) {
  char bytes[100] = {0}, name[4096], written[4096];
  snprintf(name, sizeof name, "%s.%s", prefix, how);
  snprintf(written, sizeof written, "%s.written.%s", prefix, how);
  const int syncs = !is(how, "posix") && !is(how, "reopened");
  MPI_File file = open_file(name);
  if (rank == 0) {
    CHECK_MPI(MPI_File_write_at(file, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    tell(written);
  }
  if (syncs) CHECK_MPI(MPI_File_sync(file));
  if (is(how, "reopened")) CHECK_MPI(MPI_File_close(&file));
  MPI_Request pending = MPI_REQUEST_NULL;
  if (is(how, "later"))
    MPI_Ibarrier(MPI_COMM_WORLD, &pending);
  else
    order(how);
  if (is(how, "reopened")) file = open_file(name);
  while (rank == ranks - 1 && access(written, F_OK) != 0) usleep(1000);
  if (syncs && !is(how, "once")) CHECK_MPI(MPI_File_sync(file));
  if (rank == ranks - 1)
    CHECK_MPI(MPI_File_read_at(file, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Wait(&pending, MPI_STATUS_IGNORE);
  CHECK_MPI(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  const char* const ways[] = {"nothing",   "zero",     "message",     "barrier",   "posix",
                              "once",      "reopened", "nonblocking", "tested",    "later",
                              "reduce",    "gather",   "without",     "bcast",     "scatter",
                              "allgather", "alltoall", "some",        "deal",      "iallreduce",
                              "grid",      "split",    "chain",       "backwards", "group"};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 2 && ranks == RANKS);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) write_and_read(argv[1], ways[i]);
  MPI_Finalize();
  return 0;
}
