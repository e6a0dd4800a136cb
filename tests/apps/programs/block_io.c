// Blocks of odd length that ranks write and read in turn, by every kind of blocking data call: at
// explicit offsets, by individual and shared pointers, ordered, collective, split and nonblocking
// (like the mpi-io-test benchmark). Each kind has its own file.
//
// usage: block_io FOLDER
#include <string.h>

#include "check.h"

enum { kBlockBytes = 4999, kIterations = 9 };

static int rank, size;
static unsigned char block[kBlockBytes];

static MPI_Offset place(int iteration, int r) {
  return ((MPI_Offset)iteration * size + r) * kBlockBytes;
}

// One kind of data call: transfers `block`, the one of rank r in this iteration.
typedef int (*Transfer)(MPI_File file, int iteration, int r, MPI_Status* status);

static int write_at(MPI_File file, int iteration, int r, MPI_Status* status) {
  return MPI_File_write_at(file, place(iteration, r), block, kBlockBytes, MPI_BYTE, status);
}
static int read_at(MPI_File file, int iteration, int r, MPI_Status* status) {
  return MPI_File_read_at(file, place(iteration, r), block, kBlockBytes, MPI_BYTE, status);
}
static int write_at_all(MPI_File file, int iteration, int r, MPI_Status* status) {
  return MPI_File_write_at_all(file, place(iteration, r), block, kBlockBytes, MPI_BYTE, status);
}
static int read_at_all(MPI_File file, int iteration, int r, MPI_Status* status) {
  return MPI_File_read_at_all(file, place(iteration, r), block, kBlockBytes, MPI_BYTE, status);
}
static int write_pointer(MPI_File file, int iteration, int r, MPI_Status* status) {
  MPI_File_seek(file, place(iteration, r), MPI_SEEK_SET);
  return MPI_File_write(file, block, kBlockBytes, MPI_BYTE, status);
}
static int read_pointer(MPI_File file, int iteration, int r, MPI_Status* status) {
  MPI_Offset now;
  MPI_File_get_position(file, &now);
  MPI_File_seek(file, place(iteration, r) - now, MPI_SEEK_CUR);
  return MPI_File_read(file, block, kBlockBytes, MPI_BYTE, status);
}
static int write_split(MPI_File file, int iteration, int r, MPI_Status* status) {
  int code = MPI_File_write_at_all_begin(file, place(iteration, r), block, kBlockBytes, MPI_BYTE);
  return code == MPI_SUCCESS ? MPI_File_write_at_all_end(file, block, status) : code;
}
static int read_split(MPI_File file, int iteration, int r, MPI_Status* status) {
  int code = MPI_File_read_at_all_begin(file, place(iteration, r), block, kBlockBytes, MPI_BYTE);
  return code == MPI_SUCCESS ? MPI_File_read_at_all_end(file, block, status) : code;
}
static int write_nonblocking(MPI_File file, int iteration, int r, MPI_Status* status) {
  MPI_Request request;
  int code = MPI_File_iwrite_at(file, place(iteration, r), block, kBlockBytes, MPI_BYTE, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, status) : code;
}
static int read_nonblocking(MPI_File file, int iteration, int r, MPI_Status* status) {
  MPI_Request request;
  int code = MPI_File_iread_at(file, place(iteration, r), block, kBlockBytes, MPI_BYTE, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, status) : code;
}
// Within an iteration, the ordered call puts the blocks in rank order.
static int write_ordered(MPI_File file, int iteration, int r, MPI_Status* status) {
  (void)iteration, (void)r;
  return MPI_File_write_ordered(file, block, kBlockBytes, MPI_BYTE, status);
}
static int read_ordered(MPI_File file, int iteration, int r, MPI_Status* status) {
  (void)iteration, (void)r;
  return MPI_File_read_ordered(file, block, kBlockBytes, MPI_BYTE, status);
}

static const struct {
  const char* name;
  Transfer write, read;
  int shift;  // ranks read the blocks of the rank this many places further
} kKinds[] = {
    {"at", write_at, read_at, 1},
    {"at_all", write_at_all, read_at_all, 1},
    {"pointer", write_pointer, read_pointer, 1},
    {"split", write_split, read_split, 1},
    {"nonblocking", write_nonblocking, read_nonblocking, 1},
    {"ordered", write_ordered, read_ordered, 0},
};

static void run_kind(const char* folder, const char* name, Transfer write, Transfer read,
                     int shift) {
  char path[4096];
  snprintf(path, sizeof path, "%s/blocks_%s", folder, name);
  MPI_File file;
  MPI_Status status;
  int bytes;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
  for (int i = 0; i < kIterations; ++i) {
    fill_bytes(block, place(i, rank), kBlockBytes);
    CHECK_MPI(write(file, i, rank, &status));
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    CHECK(bytes == kBlockBytes);
  }
  CHECK_MPI(MPI_File_close(&file));

  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  int other = (rank + shift) % size;
  for (int i = 0; i < kIterations; ++i) {
    memset(block, 0, kBlockBytes);
    CHECK_MPI(read(file, i, other, &status));
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    CHECK(bytes == kBlockBytes);
    CHECK(wrong_bytes(block, place(i, other), kBlockBytes) == 0);
  }
  // A read past the end moves nothing, and the status says so.
  CHECK_MPI(MPI_File_read_at(file, place(kIterations, 0), block, 10, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  CHECK(bytes == 0);
  CHECK_MPI(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 2);
  for (size_t i = 0; i < sizeof kKinds / sizeof kKinds[0]; ++i)
    run_kind(argv[1], kKinds[i].name, kKinds[i].write, kKinds[i].read, kKinds[i].shift);
  if (rank == 0) printf("verified\n");
  MPI_Finalize();
  return 0;
}
