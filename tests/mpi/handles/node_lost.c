// What rank 0 gets when the node of rank 1 does not answer any more.
//
//   node_lost FILE FOLDER
//
// Each node owns every second chunk. Rank 0 makes FOLDER/ready once both have written, waits for
// FOLDER/lost, and then tells in FOLDER/result, in a line each, an access, whether it failed, and
// how many seconds it took. Nobody finalizes: the MPI library would wait for rank 1.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "cached.h"
#include "check.h"

enum { kChunk = 1 << 16, kBytes = 300 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static const char* in_folder(const char* folder, const char* name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void tell(FILE* result, MPI_File file, const char* what, int writes, MPI_Offset offset) {
  static unsigned char bytes[kBytes];
  const double began = seconds();
  const int code = writes
                       ? MPI_File_write_at(file, offset, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE)
                       : MPI_File_read_at(file, offset, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  fprintf(result, "%s %s %.1f\n", what, code == MPI_SUCCESS ? "done" : "failed", seconds() - began);
  fflush(result);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  CHECK(is_cached(file));
  unsigned char bytes[kBytes];
  memset(bytes, 'a' + rank, sizeof bytes);
  for (int chunk = 0; chunk < 4; ++chunk)
    CHECK_MPI(MPI_File_write_at(file, (MPI_Offset)chunk * kChunk + rank * kBytes, bytes, kBytes,
                                MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) pause();
  close(open(in_folder(argv[2], "ready"), O_CREAT | O_WRONLY, 0600));
  while (access(in_folder(argv[2], "lost"), F_OK) != 0) usleep(10000);
  FILE* const result = fopen(in_folder(argv[2], "result"), "w");
  tell(result, file, "write", 1, kChunk);
  tell(result, file, "write", 1, kChunk);
  tell(result, file, "read", 0, 3 * kChunk);
  tell(result, file, "own", 1, 2 * kChunk);
  fprintf(result, "end\n");
  fclose(result);
  _exit(0);
}
