// How long accesses to bytes that another node owns take, beside bare messages of the same size.
//
//   remote_access FILE CALLS BUSY
//
// An even number of ranks, of which Forebay takes the second half for the other node. Rank 0 alone
// writes and reads 300 bytes, CALLS times, in the middle of a chunk of 4 MiB of each node; the
// other ranks sleep. Then a bare ping-pong of such messages over TCP, with a process that waits in
// recv(). Then all ranks make collective calls of 8 bytes each, MPI_Alltoall and MPI_Barrier. With
// BUSY = 1 a process for each core computes meanwhile. Prints "NAME MICROSECONDS", medians of
// single calls.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <mpi.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RECORD = 300, ANSWER = 48, CHUNK = 4 << 20, MOST_CORES = 1024 };

static int rank, ranks, calls;
static double* times;

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void fail(const char* what) {
  fprintf(stderr, "remote_access: %s failed on rank %d\n", what, rank);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int compare(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}

static void print_median(const char* name) {
  qsort(times, (size_t)calls, sizeof *times, compare);
  if (rank == 0) printf("%s %.1f\n", name, times[calls / 2]);
}

static pid_t child(void) {
  const pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return pid;
}

static void end(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

static void receive(int from, void* bytes, size_t count) {
  if (recv(from, bytes, count, MSG_WAITALL) != (ssize_t)count) _exit(0);
}

static void send_all(int to, const void* bytes, size_t count) {
  if (send(to, bytes, count, MSG_NOSIGNAL) != (ssize_t)count) _exit(0);
}

// Messages as those of a write: the record and what names it, and a short answer.
static void ping_pong(void) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (bind(listening, (struct sockaddr*)&address, length) != 0 || listen(listening, 1) != 0 ||
      getsockname(listening, (struct sockaddr*)&address, &length) != 0)
    fail("listen");
  char message[RECORD + ANSWER];
  memset(message, 1, sizeof message);
  const pid_t other = child();
  if (other == 0) {
    const int caller = accept(listening, NULL, NULL);
    setsockopt(caller, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (;;) {
      receive(caller, message, sizeof message);
      send_all(caller, message, ANSWER);
    }
  }
  const int called = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(called, (struct sockaddr*)&address, length) != 0) fail("connect");
  setsockopt(called, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  for (int i = 0; i < calls; ++i) {
    const double began = now_us();
    send_all(called, message, sizeof message);
    receive(called, message, ANSWER);
    times[i] = now_us() - began;
  }
  close(called);
  close(listening);
  end(other);
  print_median("ping-pong");
}

static void access_bytes(MPI_File file, MPI_Offset chunk, int writes, const char* name) {
  char record[RECORD];
  memset(record, 2, sizeof record);
  for (int i = 0; i < calls; ++i) {
    const MPI_Offset offset = chunk * CHUNK + CHUNK / 2 + i % 1000 * RECORD;
    const double began = now_us();
    const int code =
        writes ? MPI_File_write_at(file, offset, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE)
               : MPI_File_read_at(file, offset, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) fail(name);
    times[i] = now_us() - began;
  }
  print_median(name);
}

// Until rank 0 is here. A blocking call would keep a core.
static void sleep_meanwhile(void) {
  MPI_Request request;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  while (!done) {
    usleep(20000);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) fail("reading the arguments");
  calls = atoi(argv[2]);
  times = malloc(sizeof *times * (size_t)calls);
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                    &file) != MPI_SUCCESS)
    fail("open");
  pid_t computing[MOST_CORES];
  int cores = 0;
  if (rank == 0 && atoi(argv[3]) != 0) {
    cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (cores > MOST_CORES) cores = MOST_CORES;
    for (int core = 0; core < cores; ++core) {
      computing[core] = child();
      for (volatile long n = 0; computing[core] == 0; ++n) {
      }
    }
  }
  if (rank == 0) {
    access_bytes(file, 0, 1, "own-write");
    access_bytes(file, 0, 0, "own-read");
    access_bytes(file, 1, 1, "other-write");
    access_bytes(file, 1, 0, "other-read");
    ping_pong();
  }
  sleep_meanwhile();
  char bytes[8] = "8 bytes", *all[2] = {calloc((size_t)ranks, 8), calloc((size_t)ranks, 8)};
  for (int i = 0; i < calls; ++i) {
    const double began = now_us();
    MPI_File_write_at_all(file, rank * 8, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE);
    times[i] = now_us() - began;
  }
  print_median("collective-write");
  for (int i = 0; i < calls; ++i) {
    const double began = now_us();
    MPI_Alltoall(all[0], 8, MPI_BYTE, all[1], 8, MPI_BYTE, MPI_COMM_WORLD);
    times[i] = now_us() - began;
  }
  print_median("alltoall");
  for (int i = 0; i < calls; ++i) {
    const double began = now_us();
    MPI_Barrier(MPI_COMM_WORLD);
    times[i] = now_us() - began;
  }
  print_median("barrier");
  while (cores > 0) end(computing[--cores]);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
