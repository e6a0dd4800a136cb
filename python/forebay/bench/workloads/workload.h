// The common part of the workloads of `forebay bench`: arguments, phases, data whose value follows
// from its place in the file, verification by POSIX, one JSON line per repetition on standard
// output.
//
// A workload is a plain MPI program that knows nothing of Forebay. Its `main` calls workload_main
// with a function that carries out one repetition.
#pragma once

#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_PHASES = 8,
  MAX_FILES = 4,
  PATTERN_PERIOD = 1048573 /* prime */,
  LARGEST_ACCESS = 16 << 20
};

// One repetition: each rank fills it; workload_main reduces and prints it.
struct repetition {
  int index;        // 0: the first one of the launch
  long long count;  // --count; 0: the workload's default
  int files;        // files made; verified and removed after the repetition
  char paths[MAX_FILES][4096];
  long long file_bytes[MAX_FILES];  // expected size
  int phases;
  const char* phase_names[MAX_PHASES];
  double phase_seconds[MAX_PHASES];  // of this rank
  double phase_cpu_seconds[MAX_PHASES];
  double phase_start, phase_cpu_start;
  long long write_calls, read_calls, written_bytes, read_bytes;  // of this rank
  int wrong;  // not 0: some bytes that were read are wrong
};

static int workload_rank, workload_ranks;
static const char* workload_dir = ".";
static const char* workload_variant = "";
static unsigned char* workload_pattern;

static inline void workload_fail(const char* what, const char* path, int mpi_error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  if (mpi_error != MPI_SUCCESS) MPI_Error_string(mpi_error, text, &length);
  fprintf(stderr, "rank %d: %s %s: %s\n", workload_rank, what, path, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void workload_check(int mpi_error, const char* what, const char* path) {
  if (mpi_error != MPI_SUCCESS) workload_fail(what, path, mpi_error);
}

static inline uint64_t workload_mix(uint64_t x) {  // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The bytes that belong at `offset` of a file, LARGEST_ACCESS of them. They repeat with a prime
// period, so that every plausible misplacement is noticed and no buffer has to be filled during a
// measurement.
static inline unsigned char* workload_bytes(long long offset) {
  return workload_pattern + offset % PATTERN_PERIOD;
}

static inline double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline double thread_cpu_seconds(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

// A phase lasts from one barrier to the next, so a rank that is scheduled late counts. Its
// processor time is the rank's own, without the waiting. The time between phase_end and the next
// phase_begin (checking what was read) belongs to no phase.
static inline void phase_begin(struct repetition* r) {
  MPI_Barrier(MPI_COMM_WORLD);
  r->phase_start = MPI_Wtime();
  r->phase_cpu_start = thread_cpu_seconds();
}

// Adds the time since phase_begin to the phase `name`.
static inline void phase_end(struct repetition* r, const char* name) {
  const double cpu_seconds = thread_cpu_seconds() - r->phase_cpu_start;
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - r->phase_start;
  int i = 0;
  while (i < r->phases && strcmp(r->phase_names[i], name) != 0) ++i;
  if (i == r->phases) {
    r->phase_names[r->phases++] = name;
    r->phase_seconds[i] = r->phase_cpu_seconds[i] = 0;
  }
  r->phase_seconds[i] += seconds;
  r->phase_cpu_seconds[i] += cpu_seconds;
}

// Names the repetition's next file; the same on every rank.
static inline const char* new_file(struct repetition* r, const char* name) {
  snprintf(r->paths[r->files], sizeof r->paths[0], "%s/%s.%d", workload_dir, name, r->index);
  return r->paths[r->files++];
}

static inline MPI_File open_file(const char* path, int mode) {
  MPI_File file;
  workload_check(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file), "open", path);
  return file;
}

// Closes the file, as a phase.
static inline void close_file(struct repetition* r, MPI_File file, const char* path) {
  phase_begin(r);
  workload_check(MPI_File_close(&file), "close", path);
  phase_end(r, "close");
}

static inline void write_at(struct repetition* r, MPI_File file, long long offset, int bytes) {
  const int error =
      MPI_File_write_at(file, offset, workload_bytes(offset), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS) workload_fail("write", r->paths[r->files - 1], error);
  r->write_calls += 1;
  r->written_bytes += bytes;
}

static inline void read_at(struct repetition* r, MPI_File file, long long offset, int bytes,
                           unsigned char* into) {
  const int error = MPI_File_read_at(file, offset, into, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS) workload_fail("read", r->paths[r->files - 1], error);
  r->read_calls += 1;
  r->read_bytes += bytes;
}

// The same, where all ranks call it.
static inline void write_at_all(struct repetition* r, MPI_File file, long long offset, int bytes) {
  const int error = MPI_File_write_at_all(file, offset, workload_bytes(offset), bytes, MPI_BYTE,
                                          MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS) workload_fail("write", r->paths[r->files - 1], error);
  r->write_calls += 1;
  r->written_bytes += bytes;
}

static inline void read_at_all(struct repetition* r, MPI_File file, long long offset, int bytes,
                               unsigned char* into) {
  const int error = MPI_File_read_at_all(file, offset, into, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS) workload_fail("read", r->paths[r->files - 1], error);
  r->read_calls += 1;
  r->read_bytes += bytes;
}

// Memory whose pages are present, so that no phase includes page faults.
static inline unsigned char* touched_memory(size_t bytes) {
  unsigned char* memory = malloc(bytes ? bytes : 1);
  if (!memory) workload_fail("out of memory", "", MPI_SUCCESS);
  memset(memory, 0xff, bytes);
  return memory;
}

static inline void expect_bytes(struct repetition* r, const unsigned char* got, long long offset,
                                int bytes) {
  if (memcmp(got, workload_bytes(offset), (size_t)bytes) != 0) r->wrong = 1;
}

// Reads a finished file by POSIX. Returns 1 if it has exactly `bytes` bytes of the pattern. Adds
// every byte to *hash (FNV-1a over 8-byte words).
static inline int verify_file(const char* path, long long bytes, uint64_t* hash) {
  enum { CHUNK = 1 << 20 };
  unsigned char* chunk = malloc(CHUNK + 8);
  const int fd = open(path, O_RDONLY);
  long long offset = 0;
  ssize_t got = 0;
  int right = fd >= 0 && chunk;
  while (fd >= 0 && chunk && (got = pread(fd, chunk, CHUNK, offset)) > 0) {
    if (memcmp(chunk, workload_bytes(offset), (size_t)got) != 0) right = 0;
    memset(chunk + got, 0, 8);
    for (ssize_t i = 0; i < got; i += 8) {
      uint64_t word;
      memcpy(&word, chunk + i, 8);
      *hash = (*hash ^ word) * 0x100000001b3u;
    }
    offset += got;
  }
  if (fd >= 0) close(fd);
  free(chunk);
  return right && got == 0 && offset == bytes;
}

static inline void print_repetition(const char* workload, struct repetition* r, int keep,
                                    int file_check) {
  double seconds[MAX_PHASES] = {0}, cpu_seconds[MAX_PHASES] = {0};
  long long mine[4] = {r->write_calls, r->read_calls, r->written_bytes, r->read_bytes}, all[4];
  int wrong = 0;
  MPI_Reduce(r->phase_seconds, seconds, r->phases, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(r->phase_cpu_seconds, cpu_seconds, r->phases, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(mine, all, 4, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&r->wrong, &wrong, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (workload_rank == 0) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < r->files; ++i) {
      if (file_check && !verify_file(r->paths[i], r->file_bytes[i], &hash)) wrong = 1;
      if (!keep) unlink(r->paths[i]);
    }
    printf("{\"workload\": \"%s\", \"ranks\": %d, \"repetition\": %d, ", workload, workload_ranks,
           r->index);
    printf("\"write_calls\": %lld, \"read_calls\": %lld, \"written_bytes\": %lld, ", all[0], all[1],
           all[2]);
    printf("\"read_bytes\": %lld, \"seconds\": {", all[3]);
    for (int i = 0; i < r->phases; ++i)
      printf("%s\"%s\": %.9f", i ? ", " : "", r->phase_names[i], seconds[i]);
    printf("}, \"cpu_seconds\": {");
    for (int i = 0; i < r->phases; ++i)
      printf("%s\"%s\": %.9f", i ? ", " : "", r->phase_names[i], cpu_seconds[i]);
    printf("}, \"hash\": \"%016llx\", \"verified\": %s}\n", (unsigned long long)hash,
           wrong ? "false" : "true");
    fflush(stdout);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Arguments: --dir DIR, --repeat N (repetitions, each on new files), --count N (the amount, in the
// workload's own unit), --variant NAME (for workloads with several), --keep (keeps the files),
// --no-file-check (does not read files back, so that a request counter counts only the workload).
// Each rank's last line is "finalize SECONDS".
static inline int workload_main(int argc, char** argv, const char* workload,
                                void (*run)(struct repetition*)) {
  int repeat = 1, keep = 0, file_check = 1;
  long long count = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &workload_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &workload_ranks);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--keep") == 0) {
      keep = 1;
    } else if (strcmp(argv[i], "--no-file-check") == 0) {
      file_check = 0;
    } else if (i + 1 < argc && strcmp(argv[i], "--dir") == 0) {
      workload_dir = argv[++i];
    } else if (i + 1 < argc && strcmp(argv[i], "--repeat") == 0) {
      repeat = atoi(argv[++i]);
    } else if (i + 1 < argc && strcmp(argv[i], "--variant") == 0) {
      workload_variant = argv[++i];
    } else if (i + 1 < argc && strcmp(argv[i], "--count") == 0) {
      count = atoll(argv[++i]);
    } else {
      workload_fail("unknown argument", argv[i], MPI_SUCCESS);
    }
  }
  workload_pattern = malloc(PATTERN_PERIOD + LARGEST_ACCESS);
  if (!workload_pattern) workload_fail("out of memory", "", MPI_SUCCESS);
  for (int i = 0; i < PATTERN_PERIOD; ++i) workload_pattern[i] = (unsigned char)workload_mix(i);
  for (int i = 0; i < LARGEST_ACCESS; i += PATTERN_PERIOD) {
    const int left = LARGEST_ACCESS - i;
    memcpy(workload_pattern + PATTERN_PERIOD + i, workload_pattern,
           (size_t)(left < PATTERN_PERIOD ? left : PATTERN_PERIOD));
  }

  for (int i = 0; i < repeat; ++i) {
    struct repetition* r = calloc(1, sizeof *r);
    if (!r) workload_fail("out of memory", "", MPI_SUCCESS);
    r->index = i;
    r->count = count;
    run(r);
    print_repetition(workload, r, keep, file_check);
    free(r);
  }
  free(workload_pattern);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = seconds_of(CLOCK_MONOTONIC);
  MPI_Finalize();
  printf("finalize %.9f\n", seconds_of(CLOCK_MONOTONIC) - begin);
  return 0;
}
