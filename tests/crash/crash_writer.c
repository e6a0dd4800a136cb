// Writes small interleaved records until something ends it: a program to kill.
//
//   crash_writer FILE HISTORY RECORDS RECORD_BYTES [--end HOW --rank R --after N] [--sync-every N]
//
// Record i of rank r lies at (i * ranks + r) * RECORD_BYTES and holds bytes that tell i, r and the
// round; when all records are written the next round writes them again, until the end comes or,
// without --after, after one round. HISTORY.<rank>, a mapped file, outlives this process:
// [records issued, records whose write had returned, process id], as 64-bit numbers.
//
// HOW: kill (SIGKILL to itself), killall (to all ranks), _exit, exit (without finalize), abort
// (MPI_Abort), segfault, term (SIGTERM to itself), none (somebody else does it).
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int rank, ranks;

static void fail(const char* what, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static volatile int64_t* map_history(const char* prefix) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", prefix, rank);
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, 4096) != 0) fail(path, MPI_SUCCESS);
  void* mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) fail(path, MPI_SUCCESS);
  close(file);
  return (volatile int64_t*)mapped;
}

static void end_here(const char* how, const pid_t* pids) {
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "killall") == 0) {
    for (int r = 0; r < ranks; ++r)
      if (r != rank) kill(pids[r], SIGKILL);
    kill(getpid(), SIGKILL);
  }
  if (strcmp(how, "_exit") == 0) _exit(3);
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (strcmp(how, "segfault") == 0) raise(SIGSEGV);
  if (strcmp(how, "term") == 0) raise(SIGTERM);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 5) fail("usage", MPI_SUCCESS);
  const int64_t records = atoll(argv[3]);
  const int bytes = atoi(argv[4]);
  const char* how = "none";
  int ending_rank = 0;
  int64_t after = -1, sync_every = 0;
  for (int i = 5; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--end") == 0) how = argv[i + 1];
    if (strcmp(argv[i], "--rank") == 0) ending_rank = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--after") == 0) after = atoll(argv[i + 1]);
    if (strcmp(argv[i], "--sync-every") == 0) sync_every = atoll(argv[i + 1]);
  }
  volatile int64_t* history = map_history(argv[2]);
  pid_t mine = getpid();
  history[2] = mine;
  pid_t* pids = malloc(sizeof(pid_t) * (size_t)ranks);
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, pids, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  MPI_File file;
  int code =
      MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (code != MPI_SUCCESS) fail("open", code);
  unsigned char* record = malloc((size_t)bytes);
  for (int64_t n = 0; after < 0 ? n < records : 1; ++n) {
    if (n == after && rank == ending_rank) end_here(how, pids);
    const int64_t i = n % records, round = n / records;
    for (int b = 0; b < bytes; ++b)
      record[b] = (unsigned char)(1 + (i * 7 + rank * 31 + round * 13 + b) % 251);
    history[0] = n + 1;
    code = MPI_File_write_at(file, (i * ranks + rank) * bytes, record, bytes, MPI_BYTE,
                             MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) fail("write", code);
    history[1] = n + 1;
    if (sync_every > 0 && (n + 1) % sync_every == 0) {
      code = MPI_File_sync(file);
      if (code != MPI_SUCCESS) fail("sync", code);
    }
    if (after >= 0 && n > after + 50000000) break;
  }
  code = MPI_File_close(&file);
  if (code != MPI_SUCCESS) fail("close", code);
  MPI_Finalize();
  return 0;
}
