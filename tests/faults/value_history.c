// Many threads of several ranks write and read small records of one file at random places, through
// several handles. Each read is compared with a history of values.
//
//   value_history FILE HISTORY OPERATIONS SEED
//
// Each location has one owner thread, which writes versions 1, 2, 3 ... to it. HISTORY, a file
// mapped by all ranks, has two numbers per location: the last version whose write began, and the
// last version whose write returned. At each byte a read may return any version from the last one
// returned when the read began to the last one begun when the read ended. For the owner, which does
// not write meanwhile, that is a single version. OPERATIONS is the number per thread.
//
// Exit status 77: this MPI does not offer MPI_THREAD_MULTIPLE.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 8, kLocations = 4096, kRecord = 24, kMostTogether = 4, kHandles = 4 };
enum { kSyncEvery = 500 };

typedef struct {
  _Atomic int64_t begun, returned;
} Versions;

static Versions* versions;  // by location
static MPI_File handles[kHandles];
static MPI_File synced;           // opened by all ranks; one thread of each syncs it
static MPI_File alone[kThreads];  // opened by this rank; the thread with this index syncs it
static int rank, ranks;
static int64_t operations, seed;

typedef struct {
  int number;
  uint64_t random;
} Thread;

static uint64_t draw(Thread* thread, uint64_t limit) {
  thread->random ^= thread->random << 13;
  thread->random ^= thread->random >> 7;
  thread->random ^= thread->random << 17;
  return (thread->random >> 11) % limit;
}

static unsigned char value(int64_t location, int64_t version, int byte) {
  return version == 0 ? 0 : byte_at((location * 8191 + version) * kRecord + byte);
}

static MPI_File any_handle(Thread* thread) {
  const uint64_t choice = draw(thread, kHandles + 2);
  if (choice < kHandles) return handles[choice];
  return choice == kHandles ? synced : alone[draw(thread, kThreads)];
}

static void write_own(Thread* thread) {
  const int owners = ranks * kThreads;
  const int owner = rank * kThreads + thread->number;
  const int64_t location = (int64_t)draw(thread, kLocations / (uint64_t)owners) * owners + owner;
  const int64_t version = atomic_load(&versions[location].begun) + 1;
  unsigned char record[kRecord];
  for (int b = 0; b < kRecord; ++b) record[b] = value(location, version, b);
  atomic_store(&versions[location].begun, version);
  CHECK_MPI(MPI_File_write_at(any_handle(thread), location * kRecord, record, kRecord, MPI_BYTE,
                              MPI_STATUS_IGNORE));
  atomic_store(&versions[location].returned, version);
}

static void check_location(int64_t location, const unsigned char* record, int64_t first,
                           int64_t last) {
  for (int b = 0; b < kRecord; ++b) {
    int legal = 0;
    for (int64_t version = first; version <= last && !legal; ++version)
      legal = record[b] == value(location, version, b);
    if (legal) continue;
    fprintf(stderr, "rank %d: byte %d of location %lld is of no version from %lld to %lld\n", rank,
            b, (long long)location, (long long)first, (long long)last);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void read_some(Thread* thread) {
  const int together = 1 + (int)draw(thread, kMostTogether);
  const int64_t location = (int64_t)draw(thread, (uint64_t)(kLocations - together + 1));
  int64_t first[kMostTogether];
  unsigned char records[kMostTogether * kRecord];
  for (int i = 0; i < together; ++i) first[i] = atomic_load(&versions[location + i].returned);
  CHECK_MPI(MPI_File_read_at(any_handle(thread), location * kRecord, records, together * kRecord,
                             MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < together; ++i)
    check_location(location + i, records + i * kRecord, first[i],
                   atomic_load(&versions[location + i].begun));
}

static void* act(void* argument) {
  Thread* thread = argument;
  for (int64_t operation = 1; operation <= operations; ++operation) {
    if (draw(thread, 2))
      write_own(thread);
    else
      read_some(thread);
    if (operation % kSyncEvery != 0) continue;
    if (thread->number == 0) CHECK_MPI(MPI_File_sync(synced));
    if (thread->number < 3) CHECK_MPI(MPI_File_sync(alone[thread->number]));
  }
  return NULL;
}

static void map_history(const char* path) {
  const size_t bytes = sizeof(Versions) * kLocations;
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  CHECK(file >= 0 && ftruncate(file, (off_t)bytes) == 0);
  versions = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(versions != MAP_FAILED);
  close(file);
}

static void check_file(const char* path) {
  static unsigned char content[kLocations * kRecord];
  FILE* file = fopen(path, "rb");
  CHECK(file != NULL && fread(content, kRecord, kLocations, file) == kLocations);
  fclose(file);
  for (int64_t location = 0; location < kLocations; ++location) {
    const int64_t version = atomic_load(&versions[location].begun);
    check_location(location, content + location * kRecord, version, version);
  }
}

static void open_on(MPI_Comm comm, const char* path, MPI_File* file) {
  CHECK_MPI(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, file));
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (provided < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return 77;
  }
  map_history(argv[2]);
  operations = atoll(argv[3]);
  seed = atoll(argv[4]);
  for (int h = 0; h < kHandles; ++h) open_on(MPI_COMM_WORLD, argv[1], &handles[h]);
  open_on(MPI_COMM_WORLD, argv[1], &synced);
  for (int t = 0; t < kThreads; ++t) open_on(MPI_COMM_SELF, argv[1], &alone[t]);
  CHECK_MPI(MPI_File_set_size(synced, kLocations * kRecord));
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_t threads[kThreads];
  Thread states[kThreads];
  for (int t = 0; t < kThreads; ++t) {
    states[t].number = t;
    states[t].random = 0x9E3779B97F4A7C15u * (uint64_t)(seed * 1000 + rank * kThreads + t + 1);
    CHECK(pthread_create(&threads[t], NULL, act, &states[t]) == 0);
  }
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int t = 0; t < kThreads; ++t) CHECK_MPI(MPI_File_close(&alone[t]));
  for (int h = 0; h < kHandles; ++h) CHECK_MPI(MPI_File_close(&handles[h]));
  CHECK_MPI(MPI_File_close(&synced));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) check_file(argv[1]);
  MPI_Finalize();
  return 0;
}
