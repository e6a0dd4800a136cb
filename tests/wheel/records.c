// Four ranks write and read interleaved records of 300 bytes: the program in README's examples.
#include <mpi.h>
#include <string.h>

enum { records = 2000, bytes = 300 };

int main(int argc, char** argv) {
  int rank, ranks, wrong = 0;
  char sent[bytes], received[bytes];
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File_open(MPI_COMM_WORLD, "records.out", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                &file);
  memset(sent, 'a' + rank, bytes);
  for (int i = 0; i < records; ++i)
    MPI_File_write_at(file, ((MPI_Offset)i * ranks + rank) * bytes, sent, bytes, MPI_BYTE,
                      MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  for (int i = 0; i < records; ++i) {
    MPI_File_read_at(file, ((MPI_Offset)i * ranks + rank) * bytes, received, bytes, MPI_BYTE,
                     MPI_STATUS_IGNORE);
    wrong |= memcmp(sent, received, bytes);
  }
  MPI_File_close(&file);
  MPI_Finalize();
  return wrong != 0;
}
