// Ranks started by MPI_Comm_spawn: both worlds write one file, opened on the merged communicator,
// and a file of their own. The parents verify everything after the children have closed the files.
//
// usage: spawn FOLDER
#include <string.h>

#include "check.h"

enum { kBytes = 2003, kBlocks = 7, kChildren = 2 };

static void write_blocks(MPI_Comm comm, const char* path) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  unsigned char memory[kBytes];
  MPI_File file;
  CHECK_MPI(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
  for (int i = 0; i < kBlocks; ++i) {
    MPI_Offset place = ((MPI_Offset)i * size + rank) * kBytes;
    fill_bytes(memory, place, kBytes);
    CHECK_MPI(MPI_File_write_at(file, place, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_MPI(MPI_File_close(&file));
}

static void verify_blocks(const char* path, int writers) {
  int64_t bytes = (int64_t)writers * kBlocks * kBytes;
  unsigned char* memory = calloc((size_t)bytes, 1);
  MPI_File file;
  MPI_Offset size = -1;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  CHECK_MPI(MPI_File_get_size(file, &size));
  CHECK(size == bytes);
  CHECK_MPI(MPI_File_read_at(file, 0, memory, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(wrong_bytes(memory, 0, bytes) == 0);
  CHECK_MPI(MPI_File_close(&file));
  free(memory);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 2);
  MPI_Comm parent, other, merged;
  MPI_Comm_get_parent(&parent);
  int is_child = parent != MPI_COMM_NULL;
  if (is_child)
    other = parent;
  else
    CHECK_MPI(MPI_Comm_spawn(argv[0], argv + 1, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                             MPI_ERRCODES_IGNORE));
  CHECK_MPI(MPI_Intercomm_merge(other, is_child, &merged));

  char path[4096];
  snprintf(path, sizeof path, "%s/%s", argv[1], is_child ? "children" : "parents");
  write_blocks(MPI_COMM_WORLD, path);
  snprintf(path, sizeof path, "%s/merged", argv[1]);
  write_blocks(merged, path);
  MPI_Barrier(merged);
  if (!is_child) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    verify_blocks(path, size + kChildren);
    snprintf(path, sizeof path, "%s/children", argv[1]);
    verify_blocks(path, kChildren);
    snprintf(path, sizeof path, "%s/parents", argv[1]);
    verify_blocks(path, size);
    if (rank == 0) printf("verified\n");
  }
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&other);
  MPI_Finalize();
  return 0;
}
