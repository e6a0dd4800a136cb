// Faults below Forebay on one rank or on all, in hundreds of scenarios per launch: each kind of
// call fails in turn, first its first call, then its second, until a run has no failing call
// (inject.h).
//
//   faulty_ranks FILE storage some|all    every storage call of each rank
//   faulty_ranks FILE segments RANK COUNT every shared-memory call of RANK (-1: of all), COUNT at a
//                                         time (0: it and all after it)
//   faulty_ranks FILE memory some|all     every allocation of each rank
//
// all: both scopes, with and without write-behind; some: these alternate from rank to rank.
//
// In each run the ranks write interleaved records through a small cache, read, sync, set_size, set
// views, write in rank order and close, with errors returned. Then, without the fault, they open
// and close the file again. What must hold: each failure has the right class; sync, set_size and
// close fail on all ranks or on none; a byte of a successful write is in the file, any other byte
// is an old one or one that was issued. The last line printed: "N runs, N faults".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "inject.h"

enum { kRecord = 111, kRecords = 60, kVersions = 4 };

struct scenario {
  const char* name;
  int rank;  // with the fault; -1: all
  int calls;
  long nth;
  long count;
  int error;
  int how;
  const char* scope;
  bool write_behind;
  int cache_bytes;
};

// What this rank knows about a record; its versions are numbered.
struct record {
  int sure;    // the latest version whose write succeeded
  int issued;  // the latest version
};

static int rank, ranks;
static const char* path;
static inject_arm_function* arm;
static inject_disarm_function* disarm;

static const struct scenario* current;  // for messages
static struct record records[kRecords];
static int failures;  // failed calls of this rank in this run
static long runs, faults;

#define REQUIRE(condition)                                                                        \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr,                                                                             \
              "%s:%d: rank %d: %s does not hold (%s: rank %d, calls %d, nth %ld, count "          \
              "%ld, error %d, how %d, scope %s, write-behind %d)\n",                              \
              __FILE__, __LINE__, rank, #condition, current->name, current->rank, current->calls, \
              current->nth, current->count, current->error, current->how, current->scope,         \
              current->write_behind);                                                             \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                               \
    }                                                                                             \
  } while (0)

static bool strided;  // the view shows only this rank's records

static MPI_Offset offset_of(int i) { return ((MPI_Offset)i * ranks + rank) * kRecord; }

static MPI_Offset in_view(int i) { return strided ? (MPI_Offset)i * kRecord : offset_of(i); }

static unsigned char byte_of(int i, int version, int b) {
  return version == 0 ? 0 : byte_at((offset_of(i) + b) * kVersions + version);
}

static bool legal(int i, int b, unsigned char byte) {
  for (int version = records[i].sure; version <= records[i].issued; ++version)
    if (byte == byte_of(i, version, b)) return true;
  return false;
}

static int class_expected(void) {
  if (current->calls == INJECT_ALLOCATION) return MPI_ERR_NO_MEM;
  switch (current->error) {
    case ENOSPC:
    case EFBIG:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    default:
      return MPI_ERR_IO;
  }
}

static bool may_fail(void) {
  if (current->calls == INJECT_SEGMENT || current->error == EINTR) return false;
  return current->how == INJECT_FAIL;
}

// Whether the call succeeded. A failure must be the expected one.
static bool succeeded(int code) {
  if (code == MPI_SUCCESS) return true;
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (!may_fail() || class != class_expected()) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d: %s\n", rank, text);
  }
  REQUIRE(may_fail());
  REQUIRE(class == class_expected());
  ++failures;
  return false;
}

// The same for a collective call, which must succeed on all ranks or fail on all.
static bool all_succeeded(int code) {
  int mine[2] = {code == MPI_SUCCESS, code != MPI_SUCCESS}, any[2];
  const bool good = succeeded(code);
  MPI_Allreduce(mine, any, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  REQUIRE(any[0] + any[1] == 1);
  return good;
}

// Writes the record at its place or, ordered, at the shared pointer.
static void write_record_as(MPI_File file, int i, bool ordered) {
  unsigned char bytes[kRecord];
  const int version = ++records[i].issued;
  for (int b = 0; b < kRecord; ++b) bytes[b] = byte_of(i, version, b);
  const int code =
      ordered ? MPI_File_write_ordered(file, bytes, kRecord, MPI_BYTE, MPI_STATUS_IGNORE)
              : MPI_File_write_at(file, in_view(i), bytes, kRecord, MPI_BYTE, MPI_STATUS_IGNORE);
  if (succeeded(code)) records[i].sure = version;
}

static void write_record(MPI_File file, int i) { write_record_as(file, i, false); }

static void read_record(MPI_File file, int i) {
  unsigned char bytes[kRecord];
  MPI_Status status;
  if (!succeeded(MPI_File_read_at(file, in_view(i), bytes, kRecord, MPI_BYTE, &status))) return;
  int got;
  MPI_Get_count(&status, MPI_BYTE, &got);
  REQUIRE(got == kRecord || records[i].sure == 0);
  for (int b = 0; b < got; ++b) REQUIRE(legal(i, b, bytes[b]));
}

static void set_hint(MPI_Info info, const char* name, const char* value) {
  char key[64];
  snprintf(key, sizeof key, "forebay_%s", name);
  MPI_Info_set(info, key, value);
}

static MPI_File open_file(void) {
  char bytes[32];
  snprintf(bytes, sizeof bytes, "%d", current->cache_bytes);
  MPI_Info info;
  MPI_Info_create(&info);
  set_hint(info, "scope", current->scope);
  set_hint(info, "write_behind", current->write_behind ? "true" : "false");
  set_hint(info, "cache_size", bytes);
  set_hint(info, "page_size", "512");
  set_hint(info, "commit_size", "1024");
  set_hint(info, "read_ahead", "0");  // a failed read-ahead is not reported
  set_hint(info, "step_aside", "never");
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
  MPI_Info_free(&info);
  return file;
}

// Whether Forebay caches the file: only then does the file have this hint, which was not given.
static bool cached(MPI_File file) {
  MPI_Info info;
  CHECK_MPI(MPI_File_get_info(file, &info));
  char value[64];
  int found;
  MPI_Info_get(info, "forebay_policy", sizeof value - 1, value, &found);
  MPI_Info_free(&info);
  return found;
}

// If setting the view fails, the view stays as it was.
static void set_view(MPI_File file, bool to_strided) {
  MPI_Datatype type = MPI_BYTE;
  if (to_strided) {
    CHECK_MPI(MPI_Type_vector(kRecords, kRecord, kRecord * ranks, MPI_BYTE, &type));
    CHECK_MPI(MPI_Type_commit(&type));
  }
  const MPI_Offset displacement = to_strided ? rank * kRecord : 0;
  if (all_succeeded(MPI_File_set_view(file, displacement, MPI_BYTE, type, "native", MPI_INFO_NULL)))
    strided = to_strided;
  if (to_strided) CHECK_MPI(MPI_Type_free(&type));
}

static void use(MPI_File file) {
  for (int i = 0; i < kRecords; ++i) {
    write_record(file, i);
    if (i % 5 == 4) read_record(file, i - 3);
  }
  all_succeeded(MPI_File_sync(file));
  all_succeeded(MPI_File_set_size(file, (MPI_Offset)kRecords * ranks * kRecord));
  for (int i = 0; i < kRecords; i += 3) write_record(file, i);
  for (int i = 0; i < kRecords; i += 2) read_record(file, i);
  set_view(file, true);
  for (int i = 1; i < kRecords; i += 6) write_record(file, i);
  for (int i = 1; i < kRecords; i += 4) read_record(file, i);
  set_view(file, false);
  for (int i = 2; i < 5 && !strided; ++i) {
    if (all_succeeded(MPI_File_seek_shared(file, (MPI_Offset)i * ranks * kRecord, MPI_SEEK_SET)))
      write_record_as(file, i, true);
  }
}

static void verify_file(void) {
  const int file = open(path, O_RDONLY);
  REQUIRE(file >= 0);
  for (int i = 0; i < kRecords; ++i) {
    unsigned char bytes[kRecord] = {0};
    REQUIRE(pread(file, bytes, kRecord, offset_of(i)) >= 0);
    for (int b = 0; b < kRecord; ++b) REQUIRE(legal(i, b, bytes[b]));
  }
  close(file);
}

static bool must_surface(void) {
  return may_fail() && !current->write_behind &&
         (current->calls & (INJECT_WRITE | INJECT_READ | INJECT_FSYNC)) != 0;
}

// Whether a rank met the fault.
static bool run(const struct scenario* scenario) {
  current = scenario;
  if (rank == 0) unlink(path);
  memset(records, 0, sizeof records);
  failures = 0;
  strided = false;
  MPI_Barrier(MPI_COMM_WORLD);
  const bool faulty = scenario->rank < 0 || scenario->rank == rank;
  if (faulty) {
    arm(path, scenario->calls, scenario->nth, scenario->count, scenario->error, scenario->how);
  }
  MPI_File file = open_file();
  use(file);
  all_succeeded(MPI_File_close(&file));
  REQUIRE(file == MPI_FILE_NULL);
  long met = faulty ? disarm() : 0;
  REQUIRE(met == 0 || failures > 0 || !must_surface());
  MPI_Allreduce(MPI_IN_PLACE, &met, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  file = open_file();
  CHECK_MPI(MPI_File_close(&file));
  verify_file();
  MPI_Barrier(MPI_COMM_WORLD);
  ++runs;
  faults += met;
  return met > 0;
}

// Makes each call fail in turn, until a run makes no such call.
static void run_each(struct scenario scenario) {
  for (scenario.nth = 1; run(&scenario);) ++scenario.nth;
}

static void storage_faults(bool all) {
  static const struct {
    int calls, error, how;
    long count;
  } kinds[] = {
      {INJECT_WRITE, ENOSPC, INJECT_FAIL, 1}, {INJECT_WRITE, ENOSPC, INJECT_FAIL, 0},
      {INJECT_WRITE, EDQUOT, INJECT_FAIL, 1}, {INJECT_WRITE, EDQUOT, INJECT_FAIL, 0},
      {INJECT_WRITE, EIO, INJECT_FAIL, 1},    {INJECT_WRITE, EIO, INJECT_FAIL, 0},
      {INJECT_WRITE, EFBIG, INJECT_FAIL, 1},  {INJECT_WRITE, EFBIG, INJECT_FAIL, 0},
      {INJECT_WRITE, EINTR, INJECT_FAIL, 1},  {INJECT_WRITE, 0, INJECT_HALF, 1},
      {INJECT_WRITE, 0, INJECT_HALF, 0},      {INJECT_READ, EIO, INJECT_FAIL, 1},
      {INJECT_READ, EIO, INJECT_FAIL, 0},     {INJECT_READ, EINTR, INJECT_FAIL, 1},
      {INJECT_READ, 0, INJECT_HALF, 1},       {INJECT_READ, 0, INJECT_HALF, 0},
      {INJECT_FSYNC, EIO, INJECT_FAIL, 1},    {INJECT_FSYNC, EIO, INJECT_FAIL, 0},
      {INJECT_FSYNC, ENOSPC, INJECT_FAIL, 1}, {INJECT_FSYNC, EDQUOT, INJECT_FAIL, 0},
      {INJECT_FSYNC, EINTR, INJECT_FAIL, 1},  {INJECT_SIZE, EIO, INJECT_FAIL, 1},
      {INJECT_SIZE, EIO, INJECT_FAIL, 0},     {INJECT_OPEN, EIO, INJECT_FAIL, 1},
      {INJECT_OPEN, EIO, INJECT_FAIL, 0},     {INJECT_CLOSE, EIO, INJECT_FAIL, 0},
  };
  for (int k = 0; k < (int)(sizeof kinds / sizeof *kinds); ++k) {
    for (int faulty = 0; faulty < ranks; ++faulty) {
      for (int variant = 0; variant < 4; ++variant) {
        if (!all && variant != (k + faulty) % 4) continue;
        run_each((struct scenario){"storage", faulty, kinds[k].calls, 1, kinds[k].count,
                                   kinds[k].error, kinds[k].how, variant & 1 ? "process" : "node",
                                   (variant & 2) != 0, 4096});
      }
    }
  }
}

// An arena is made for each cache size that was not used before. While the node's own segment is
// refused, each run requests it again.
static void segment_faults(int faulty, long count) {
  static const int errors[] = {ENOMEM, ENOSPC, EMFILE};
  for (int scope = 0; scope < 2; ++scope) {
    struct scenario scenario = {.name = "segments",
                                .rank = faulty,
                                .calls = INJECT_SEGMENT,
                                .nth = 1,
                                .count = count,
                                .how = INJECT_FAIL,
                                .scope = scope ? "process" : "node"};
    int sizes = 0;
    for (int from_anew = 0; from_anew < 3; ++from_anew) {
      do {
        scenario.error = errors[(scenario.nth + from_anew) % 3];
        scenario.cache_bytes = 4096 + 512 * sizes++;
      } while (run(&scenario) && ++scenario.nth);
      scenario.nth = 1;
    }
    scenario.cache_bytes = 4096 + 512 * sizes;  // so that the last run has its arena
    MPI_File file = open_file();
    REQUIRE(cached(file));
    CHECK_MPI(MPI_File_close(&file));
  }
}

static void memory_faults(bool all) {
  for (int faulty = 0; faulty < ranks; ++faulty) {
    for (int variant = 0; variant < 8; ++variant) {
      if (!all && (variant + variant / 2 + variant / 4) % ranks != faulty) continue;
      run_each((struct scenario){"memory", faulty, INJECT_ALLOCATION, 1, variant & 4 ? 0 : 1,
                                 ENOMEM, INJECT_FAIL, variant & 1 ? "process" : "node",
                                 (variant & 2) != 0, 4096});
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  arm = (inject_arm_function*)dlsym(RTLD_DEFAULT, "inject_arm");
  disarm = (inject_disarm_function*)dlsym(RTLD_DEFAULT, "inject_disarm");
  CHECK(arm != NULL && disarm != NULL && argc >= 3);
  path = argv[1];
  if (strcmp(argv[2], "storage") == 0) storage_faults(strcmp(argv[3], "all") == 0);
  if (strcmp(argv[2], "segments") == 0) segment_faults(atoi(argv[3]), atol(argv[4]));
  if (strcmp(argv[2], "memory") == 0) memory_faults(strcmp(argv[3], "all") == 0);
  if (rank == 0) printf("%ld runs, %ld faults\n", runs, faults);
  MPI_Finalize();
  return 0;
}
