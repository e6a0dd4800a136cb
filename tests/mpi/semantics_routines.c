// Every data access routine (MPI 4.1, table 14.1) moves its bytes to and from the right place, on
// all ranks: by given offsets, individual and shared pointers; ordered, collective, split,
// nonblocking; with int and with large counts.
#include <string.h>

#include "check.h"

enum { kBytes = 517, kRoutines = 14 };

static int rank, size;
static MPI_File file;

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define HAS_LARGE_COUNT 1
#endif

static int64_t count_of(MPI_Status* status) {
  MPI_Count count = -1;
  MPI_Get_elements_x(status, MPI_BYTE, &count);
  return count;
}

// The routines by number. Each moves kBytes at `at`; the pointer is set beforehand if the routine
// uses it.
static void write_by(int routine, MPI_Offset at, const unsigned char* memory) {
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  int split = 0;
  switch (routine) {
    case 0:
      CHECK_MPI(MPI_File_write_at(file, at, memory, kBytes, MPI_BYTE, &status));
      break;
    case 1:
      CHECK_MPI(MPI_File_write_at_all(file, at, memory, kBytes, MPI_BYTE, &status));
      break;
    case 2:
      CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_write(file, memory, kBytes, MPI_BYTE, &status));
      break;
    case 3:
      CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_write_all(file, memory, kBytes, MPI_BYTE, &status));
      break;
    case 4:
      CHECK_MPI(MPI_File_iwrite_at(file, at, memory, kBytes, MPI_BYTE, &request));
      break;
    case 5:
      CHECK_MPI(MPI_File_iwrite_at_all(file, at, memory, kBytes, MPI_BYTE, &request));
      break;
    case 6:
      CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_iwrite(file, memory, kBytes, MPI_BYTE, &request));
      break;
    case 7:
      CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_iwrite_all(file, memory, kBytes, MPI_BYTE, &request));
      break;
    case 8:
      CHECK_MPI(MPI_File_write_at_all_begin(file, at, memory, kBytes, MPI_BYTE));
      CHECK_MPI(MPI_File_write_at_all_end(file, memory, &status));
      split = 1;
      break;
    case 9:
      CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_write_all_begin(file, memory, kBytes, MPI_BYTE));
      CHECK_MPI(MPI_File_write_all_end(file, memory, &status));
      split = 1;
      break;
    case 10:
      CHECK_MPI(MPI_File_seek_shared(file, at - (MPI_Offset)rank * kBytes, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_write_ordered(file, memory, kBytes, MPI_BYTE, &status));
      break;
    case 11:
      CHECK_MPI(MPI_File_seek_shared(file, at - (MPI_Offset)rank * kBytes, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_write_ordered_begin(file, memory, kBytes, MPI_BYTE));
      CHECK_MPI(MPI_File_write_ordered_end(file, memory, &status));
      split = 1;
      break;
    default:
#ifdef HAS_LARGE_COUNT
      if (routine == 12) {
        CHECK_MPI(MPI_File_write_at_c(file, at, memory, kBytes, MPI_BYTE, &status));
      } else {
        CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
        CHECK_MPI(MPI_File_iwrite_all_c(file, memory, kBytes, MPI_BYTE, &request));
      }
#else
      CHECK_MPI(MPI_File_write_at(file, at, memory, kBytes, MPI_BYTE, &status));
#endif
  }
  if (request != MPI_REQUEST_NULL) CHECK_MPI(MPI_Wait(&request, &status));
  CHECK(split || count_of(&status) == kBytes);
}

static void read_by(int routine, MPI_Offset at, unsigned char* memory) {
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  memset(memory, 0, kBytes);
  switch (routine) {
    case 0:
      CHECK_MPI(MPI_File_read_at(file, at, memory, kBytes, MPI_BYTE, &status));
      break;
    case 1:
      CHECK_MPI(MPI_File_read_at_all(file, at, memory, kBytes, MPI_BYTE, &status));
      break;
    case 2:
      CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_read(file, memory, kBytes, MPI_BYTE, &status));
      break;
    case 3:
      CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_read_all(file, memory, kBytes, MPI_BYTE, &status));
      break;
    case 4:
      CHECK_MPI(MPI_File_iread_at(file, at, memory, kBytes, MPI_BYTE, &request));
      break;
    case 5:
      CHECK_MPI(MPI_File_iread_at_all(file, at, memory, kBytes, MPI_BYTE, &request));
      break;
    case 6:
      CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_iread(file, memory, kBytes, MPI_BYTE, &request));
      break;
    case 7:
      CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_iread_all(file, memory, kBytes, MPI_BYTE, &request));
      break;
    case 8:
      CHECK_MPI(MPI_File_read_at_all_begin(file, at, memory, kBytes, MPI_BYTE));
      CHECK_MPI(MPI_File_read_at_all_end(file, memory, MPI_STATUS_IGNORE));
      return;
    case 9:
      CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_read_all_begin(file, memory, kBytes, MPI_BYTE));
      CHECK_MPI(MPI_File_read_all_end(file, memory, MPI_STATUS_IGNORE));
      return;
    case 10:
      CHECK_MPI(MPI_File_seek_shared(file, at - (MPI_Offset)rank * kBytes, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_read_ordered(file, memory, kBytes, MPI_BYTE, &status));
      break;
    case 11:
      CHECK_MPI(MPI_File_seek_shared(file, at - (MPI_Offset)rank * kBytes, MPI_SEEK_SET));
      CHECK_MPI(MPI_File_read_ordered_begin(file, memory, kBytes, MPI_BYTE));
      CHECK_MPI(MPI_File_read_ordered_end(file, memory, MPI_STATUS_IGNORE));
      return;
    default:
#ifdef HAS_LARGE_COUNT
      if (routine == 12) {
        CHECK_MPI(MPI_File_read_at_c(file, at, memory, kBytes, MPI_BYTE, &status));
      } else {
        CHECK_MPI(MPI_File_seek(file, at, MPI_SEEK_SET));
        CHECK_MPI(MPI_File_iread_all_c(file, memory, kBytes, MPI_BYTE, &request));
      }
#else
      CHECK_MPI(MPI_File_read_at(file, at, memory, kBytes, MPI_BYTE, &status));
#endif
  }
  if (request != MPI_REQUEST_NULL) CHECK_MPI(MPI_Wait(&request, &status));
  CHECK(count_of(&status) == kBytes);
}

// Records of all ranks, in the order in which ranks come: each record is read back whole, none
// twice.
static void shared_records(void) {
  unsigned char memory[kBytes];
  MPI_Status status;
  MPI_Request request;
  const MPI_Offset begin = (MPI_Offset)kRoutines * size * kBytes;
  CHECK_MPI(MPI_File_seek_shared(file, begin, MPI_SEEK_SET));
  memset(memory, 'a' + rank, kBytes);
  CHECK_MPI(MPI_File_write_shared(file, memory, kBytes, MPI_BYTE, &status));
  CHECK(count_of(&status) == kBytes);
  CHECK_MPI(MPI_File_iwrite_shared(file, memory, kBytes, MPI_BYTE, &request));
  CHECK_MPI(MPI_Wait(&request, &status));
  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(file));
  CHECK_MPI(MPI_File_seek_shared(file, begin, MPI_SEEK_SET));
  int mine[26] = {0}, all[26];
  for (int i = 0; i < 2; ++i) {
    if (i == 0) {
      CHECK_MPI(MPI_File_read_shared(file, memory, kBytes, MPI_BYTE, &status));
    } else {
      CHECK_MPI(MPI_File_iread_shared(file, memory, kBytes, MPI_BYTE, &request));
      CHECK_MPI(MPI_Wait(&request, &status));
    }
    for (int b = 1; b < kBytes; ++b) CHECK(memory[b] == memory[0]);
    ++mine[memory[0] - 'a'];
  }
  MPI_Allreduce(mine, all, 26, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) CHECK(all[r] == 2);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/routines", argv[1]);
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  unsigned char memory[kBytes];
  for (int routine = 0; routine < kRoutines; ++routine) {
    const MPI_Offset at = ((MPI_Offset)routine * size + rank) * kBytes;
    fill_bytes(memory, at, kBytes);
    write_by(routine, at, memory);
  }
  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(file));
  for (int routine = 0; routine < kRoutines; ++routine) {
    // Another routine reads what a routine wrote: the neighbour's bytes, or the rank's own if ranks
    // are in order.
    const int other = routine == 10 || routine == 11 ? rank : (rank + 1) % size;
    const MPI_Offset at = ((MPI_Offset)((routine + 5) % kRoutines) * size + other) * kBytes;
    read_by(routine, at, memory);
    CHECK(wrong_bytes(memory, at, kBytes) == 0);
  }
  shared_records();
  CHECK_MPI(MPI_File_close(&file));

  // Everything is in the file, for other programs to read.
  if (rank == 0) {
    FILE* plain = fopen(path, "rb");
    CHECK(plain != NULL);
    for (MPI_Offset at = 0; at < (MPI_Offset)kRoutines * size * kBytes; at += kBytes) {
      CHECK(fread(memory, 1, kBytes, plain) == kBytes);
      CHECK(wrong_bytes(memory, at, kBytes) == 0);
    }
    fclose(plain);
  }
  MPI_Finalize();
  return 0;
}
