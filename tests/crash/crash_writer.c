// Writes small interleaved records until it is ended: a program to kill.
//
//   crash_writer FILE HISTORY RECORDS RECORD_BYTES [--end HOW --rank R --after N] [--sync-every N]
//                [--signal NUMBER --handler WHEN --then WHAT] [--threads 1] [--reader 1]
//
// Record i of rank r is at (i * ranks + r) * RECORD_BYTES; its bytes depend on i, r and the round.
// When all records are written, the next round writes them again, until the end comes or, without
// --after, after one round. HISTORY.<rank>, a mapped file, outlives the process. It has 64-bit
// numbers: records issued, records whose write returned, process id, whether Forebay caches the
// file.
//
// HOW: kill (SIGKILL to itself), killall (to all ranks), _exit, exit (without finalize), abort
// (MPI_Abort), segfault, term (SIGTERM to itself), signal (NUMBER to all ranks), exit-thread and
// abort-thread (exit or MPI_Abort by a second thread), oom (takes memory, at most a gigabyte), none
// (the test ends it).
//
// WHEN: the program sets its own handler of signal NUMBER before or after MPI_Init, or after it by
// SA_SIGINFO ("siginfo"). WHAT: the handler returns, calls exit, _exit or abort (MPI_Abort), or
// leaves by longjmp; with "close" and "finalize" it sets a flag, and the main program then does
// this much in order. --threads requests MPI_THREAD_MULTIPLE. --reader opens the file a second
// time, for reading only, checks every hundredth record through this handle, and leaves it open.
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cached.h"

static int rank, ranks;
static const char* then = "return";
static sigjmp_buf main_flow;
static volatile sig_atomic_t calling;  // within an MPI call
static volatile sig_atomic_t asked;    // a signal asked the program to end

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

static void handle(int number) {
  (void)number;
  if (strcmp(then, "exit") == 0) exit(3);
  if (strcmp(then, "_exit") == 0) _exit(3);
  if (strcmp(then, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (strcmp(then, "longjmp") == 0) siglongjmp(main_flow, 1);
  if (strcmp(then, "return") != 0) asked = 1;
}

static void handle_with_information(int number, siginfo_t* information, void* context) {
  (void)context;
  if (information->si_signo != number) fail("siginfo", MPI_SUCCESS);
  handle(number);
}

static void install_handler(int number, int with_information) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  if (with_information) {
    action.sa_sigaction = handle_with_information;
    action.sa_flags = SA_SIGINFO;
  } else {
    action.sa_handler = handle;
  }
  sigaction(number, &action, NULL);
}

static void* exit_in_thread(void* unused) {
  exit(3);
  return unused;
}

static void* abort_in_thread(void* unused) {
  MPI_Abort(MPI_COMM_WORLD, 3);
  return unused;
}

static void signal_all(const pid_t* pids, int number) {
  for (int r = 0; r < ranks; ++r)
    if (r != rank) kill(pids[r], number);
  kill(getpid(), number);
}

static void use_memory(int bytes) {
  volatile char* memory = malloc((size_t)bytes);
  for (int b = 0; memory != NULL && b < bytes; b += 4096) memory[b] = 1;
}

static void end_here(const char* how, int number, const pid_t* pids) {
  pthread_t thread;
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "killall") == 0) signal_all(pids, SIGKILL);
  if (strcmp(how, "_exit") == 0) _exit(3);
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (strcmp(how, "segfault") == 0) raise(SIGSEGV);
  if (strcmp(how, "term") == 0) raise(SIGTERM);
  if (strcmp(how, "signal") == 0) signal_all(pids, number);
  if (strcmp(how, "exit-thread") == 0) pthread_create(&thread, NULL, exit_in_thread, NULL);
  if (strcmp(how, "abort-thread") == 0) pthread_create(&thread, NULL, abort_in_thread, NULL);
  for (int i = 0; strcmp(how, "oom") == 0 && i < 1000; ++i) use_memory(1 << 20);
}

static MPI_File open_file(const char* path, int mode) {
  MPI_File file;
  const int code = MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file);
  if (code != MPI_SUCCESS) fail("open", code);
  return file;
}

static void check_record(MPI_File reader, MPI_Offset offset, const unsigned char* record,
                         int bytes) {
  unsigned char found[4096];
  const int code = MPI_File_read_at(reader, offset, found, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) fail("read", code);
  if (memcmp(found, record, (size_t)bytes) != 0) fail("what was written is not read", MPI_SUCCESS);
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int64_t records = atoll(argv[3]);
  const int bytes = atoi(argv[4]);
  const char *how = "none", *handler = "none";
  int ending_rank = 0, number = SIGTERM, threads = 0, reads = 0;
  int64_t after = -1, sync_every = 0;
  for (int i = 5; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--end") == 0) how = argv[i + 1];
    if (strcmp(argv[i], "--rank") == 0) ending_rank = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--after") == 0) after = atoll(argv[i + 1]);
    if (strcmp(argv[i], "--sync-every") == 0) sync_every = atoll(argv[i + 1]);
    if (strcmp(argv[i], "--signal") == 0) number = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--handler") == 0) handler = argv[i + 1];
    if (strcmp(argv[i], "--then") == 0) then = argv[i + 1];
    if (strcmp(argv[i], "--threads") == 0) threads = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--reader") == 0) reads = atoi(argv[i + 1]);
  }
  // Records written after the signal that should have ended this process.
  const int goes_on = strcmp(how, "signal") == 0 && strcmp(then, "return") == 0;
  const int64_t last_words = goes_on ? records : 50000000;
  if (strcmp(handler, "before") == 0) install_handler(number, 0);
  int provided;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(handler, "after") == 0) install_handler(number, 0);
  if (strcmp(handler, "siginfo") == 0) install_handler(number, 1);
  volatile int64_t* history = map_history(argv[2]);
  pid_t mine = getpid();
  history[2] = mine;
  pid_t* pids = malloc(sizeof(pid_t) * (size_t)ranks);
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, pids, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  MPI_File file = open_file(argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR);
  history[3] = is_cached(file);
  MPI_File reader = reads ? open_file(argv[1], MPI_MODE_RDONLY) : MPI_FILE_NULL;
  unsigned char* record = malloc((size_t)bytes);
  int code = MPI_SUCCESS;
  if (sigsetjmp(main_flow, 1) != 0) {
    if (calling) exit(3);  // after an interrupted MPI call no other MPI call is allowed
    asked = 1;
  }
  for (int64_t n = 0; !asked && (after < 0 ? n < records : 1); ++n) {
    if (n == after && rank == ending_rank) end_here(how, number, pids);
    if (asked) break;
    const int64_t i = n % records, round = n / records;
    for (int b = 0; b < bytes; ++b)
      record[b] = (unsigned char)(1 + (i * 7 + rank * 31 + round * 13 + b) % 251);
    const MPI_Offset offset = (i * ranks + rank) * bytes;
    history[0] = n + 1;
    calling = 1;
    code = MPI_File_write_at(file, offset, record, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) fail("write", code);
    history[1] = n + 1;
    if (reads && n % 100 == 0) check_record(reader, offset, record, bytes);
    if (sync_every > 0 && (n + 1) % sync_every == 0) {
      code = MPI_File_sync(file);
      if (code != MPI_SUCCESS) fail("sync", code);
    }
    calling = 0;
    if (after >= 0 && n > after + last_words) break;
  }
  if (strcmp(then, "finalize") != 0) {
    code = MPI_File_close(&file);
    if (code != MPI_SUCCESS) fail("close", code);
    if (reads) MPI_File_close(&reader);
  }
  MPI_Finalize();
  return 0;
}
