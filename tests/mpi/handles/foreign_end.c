// argv: a file. In a view of another data representation, which the library alone walks, a seek
// from the end of file counts the view's data, not the file's bytes.
#include "check.h"

enum { kInts = 25, kStride = 4 };

int main(int argc, char** argv) {
  CHECK_MPI(MPI_Init(&argc, &argv));
  int rank;
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK(argc == 2);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  // One int in four, from byte 100 on; the file ends behind the last one.
  MPI_Datatype spread;
  CHECK_MPI(MPI_Type_create_resized(MPI_INT, 0, kStride * 4, &spread));
  CHECK_MPI(MPI_Type_commit(&spread));
  CHECK_MPI(MPI_File_set_view(file, 100, MPI_INT, spread, "external32", MPI_INFO_NULL));
  int value = 7;
  if (rank == 0)
    for (int i = 0; i < kInts; ++i)
      CHECK_MPI(MPI_File_write_at(file, i, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_sync(file));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_File_sync(file));
  MPI_Offset position = -1;
  CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_END));
  CHECK_MPI(MPI_File_get_position(file, &position));
  CHECK(position == kInts);
  CHECK_MPI(MPI_File_seek_shared(file, -5, MPI_SEEK_END));
  CHECK_MPI(MPI_File_get_position_shared(file, &position));
  CHECK(position == kInts - 5);
  CHECK_MPI(MPI_Type_free(&spread));
  CHECK_MPI(MPI_File_close(&file));
  CHECK_MPI(MPI_Finalize());
  return 0;
}
