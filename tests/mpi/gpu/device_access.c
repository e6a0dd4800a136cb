// Reads and writes with buffers in a stand-in for GPU memory, by every kind of routine, on 2 ranks.
// Arguments: a folder, the GPU's library, and the function that initialises it. The library is
// loaded after the file was first used.
#include <dlfcn.h>
#include <string.h>

#include "check.h"
#include "device.h"

enum { record = 300, records = 1000, large = (9 << 20) + 5, region = 24 << 20 };

static int rank;
static MPI_File file;
static unsigned char* buffer;  // address on the device
static unsigned char* bytes;   // the same bytes, for code in the role of the GPU

static void fill(int64_t position, int64_t length) { fill_bytes(bytes, position, length); }

static void expect(int64_t position, int64_t length) {
  CHECK(wrong_bytes(bytes, position, length) == 0);
}

static void read_back(int64_t position, int length) {
  memset(bytes, 0, (size_t)length);
  MPI_Status status;
  CHECK_MPI(MPI_File_read_at(file, position, buffer, length, MPI_BYTE, &status));
  int count;
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == length);
  expect(position, length);
}

static void view_bytes(void) {
  CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

// The records of the first rank are in the device's memory, those of the second in the host's.
static void interleaved(int64_t base) {
  MPI_Datatype view;
  MPI_Type_vector(records, record, 2 * record, MPI_BYTE, &view);
  MPI_Type_commit(&view);
  const MPI_Offset start = base + rank * record;
  CHECK_MPI(MPI_File_set_view(file, start, MPI_BYTE, view, "native", MPI_INFO_NULL));
  static unsigned char host[record * records];
  unsigned char* const mine = rank == 0 ? bytes : host;
  void* const given = rank == 0 ? buffer : host;
  for (int i = 0; i < records; ++i) fill_bytes(mine + i * record, start + 2 * i * record, record);
  CHECK_MPI(MPI_File_write_at_all(file, 0, given, record * records, MPI_BYTE, MPI_STATUS_IGNORE));
  memset(mine, 0, record * records);
  CHECK_MPI(MPI_File_read_at_all(file, 0, given, record * records, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < records; ++i)
    CHECK(wrong_bytes(mine + i * record, start + 2 * i * record, record) == 0);
  MPI_Type_free(&view);
  view_bytes();
}

// Memory with holes; reads use other holes than writes.
static void with_holes(int64_t base) {
  enum { blocks = 120000, length = 40, stride = 64, other_stride = 48 };
  MPI_Datatype written, read;
  MPI_Type_vector(blocks, length, stride, MPI_BYTE, &written);
  MPI_Type_vector(blocks, length, other_stride, MPI_BYTE, &read);
  MPI_Type_commit(&written);
  MPI_Type_commit(&read);
  const int64_t start = base + rank * blocks * length;
  for (int i = 0; i < blocks; ++i) fill_bytes(bytes + i * stride, start + i * length, length);
  CHECK_MPI(MPI_File_write_at(file, start, buffer, 1, written, MPI_STATUS_IGNORE));
  memset(bytes, 0, blocks * stride);
  CHECK_MPI(MPI_File_read_at(file, start, buffer, 1, read, MPI_STATUS_IGNORE));
  for (int i = 0; i < blocks; ++i) {
    CHECK(wrong_bytes(bytes + i * other_stride, start + i * length, length) == 0);
    for (int hole = length; hole < other_stride && i + 1 < blocks; ++hole)
      CHECK(bytes[i * other_stride + hole] == 0);
  }
  MPI_Type_free(&written);
  MPI_Type_free(&read);
}

static void by_pointers(int64_t base) {
  CHECK_MPI(MPI_File_set_view(file, base + rank * 3 * record, MPI_BYTE, MPI_BYTE, "native",
                              MPI_INFO_NULL));
  for (int i = 0; i < 3; ++i) {
    fill(base + rank * 3 * record + i * record, record);
    CHECK_MPI(MPI_File_write(file, buffer, record, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_MPI(
      MPI_File_set_view(file, base + 6 * record, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  fill(base + (6 + rank) * record, record);
  CHECK_MPI(MPI_File_write_ordered(file, buffer, record, MPI_BYTE, MPI_STATUS_IGNORE));
  fill(base + (8 + rank) * record, record);
  CHECK_MPI(MPI_File_write_ordered_begin(file, buffer, record, MPI_BYTE));
  CHECK_MPI(MPI_File_write_ordered_end(file, buffer, MPI_STATUS_IGNORE));
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (turn != rank) continue;
    fill(base + (10 + turn) * record, record);
    CHECK_MPI(MPI_File_write_shared(file, buffer, record, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  view_bytes();
  read_back(base, 12 * record);
}

static void nonblocking(int64_t base) {
  MPI_Request request;
  fill(base + rank * record, record);
  CHECK_MPI(MPI_File_iwrite_at(file, base + rank * record, buffer, record, MPI_BYTE, &request));
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  memset(bytes, 0, record);
  CHECK_MPI(MPI_File_iread_at(file, base + rank * record, buffer, record, MPI_BYTE, &request));
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  expect(base + rank * record, record);
}

static void atomic(int64_t base) {
  CHECK_MPI(MPI_File_set_atomicity(file, 1));
  fill(base + rank * record, record);
  CHECK_MPI(
      MPI_File_write_at(file, base + rank * record, buffer, record, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  read_back(base + (1 - rank) * record, record);
  CHECK_MPI(MPI_File_set_atomicity(file, 0));
}

// The host may touch managed memory.
static void managed(int64_t base) {
  unsigned char* const both = device_allocate_managed(record);
  fill_bytes(both, base + rank * record, record);
  CHECK_MPI(
      MPI_File_write_at(file, base + rank * record, both, record, MPI_BYTE, MPI_STATUS_IGNORE));
  read_back(base + rank * record, record);
}

// A read that the end of file shortens leaves the rest of the buffer unchanged.
static void at_the_end(int64_t base) {
  if (rank == 0) {
    fill(base, record);
    CHECK_MPI(MPI_File_write_at(file, base, buffer, record, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  memset(bytes, 0xee, record);
  MPI_Status status;
  CHECK_MPI(MPI_File_read_at(file, base + 200, buffer, record, MPI_BYTE, &status));
  expect(base + 200, 100);
  for (int i = 100; i < record; ++i) CHECK(bytes[i] == 0xee);
}

// Loads the GPU's library, which nothing has needed so far. The last error of this library, if it
// has one, is not changed.
static int (*load(const char* path, const char* initialise))(void) {
  void* const library = dlopen(path, RTLD_NOW);
  CHECK(library != NULL);
  int (*const init)(unsigned) = (int (*)(unsigned))dlsym(library, initialise);
  CHECK(init != NULL && init(0) == 0);
  return (int (*)(void))dlsym(library, "hipPeekAtLastError");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(argc == 4);
  char name[4096];
  snprintf(name, sizeof name, "%s/device", argv[1]);
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  unsigned char first[record];
  fill_bytes(first, rank * record, record);
  for (int i = 0; i < 3; ++i)
    CHECK_MPI(MPI_File_write_at(file, rank * record, first, record, MPI_BYTE, MPI_STATUS_IGNORE));

  int (*const last_error)(void) = load(argv[2], argv[3]);
  buffer = device_allocate(large);
  bytes = device_bytes(buffer);
  int64_t base = 1 << 20;
  interleaved(base);
  base += region;
  fill(base + rank * large, large);
  CHECK_MPI(
      MPI_File_write_at(file, base + rank * large, buffer, large, MPI_BYTE, MPI_STATUS_IGNORE));
  read_back(base + rank * large, large);
  with_holes(base += region);
  by_pointers(base += region);
  nonblocking(base += region);
  atomic(base += region);
  managed(base += region);
  at_the_end(base += region);
  CHECK(last_error == NULL || last_error() == 0);
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
