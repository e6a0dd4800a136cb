// argv: a file, and what happens when ranks end.
//   alone     rank 0 goes on with a file that all had open, when the others are in MPI_Finalize
//   callback  each rank closes a file in MPI_Finalize, in the callback of an attribute of
//             MPI_COMM_SELF, after it has read what it wrote before, and has written it anew
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kPlaces = 20, kBytes = 16, kApart = 100000 };

static MPI_File file;
static int rank, size;

static MPI_Offset place(int i, int of) { return (MPI_Offset)i * kApart + of * kBytes; }

static void write_all_places(MPI_File to, char letter) {
  unsigned char memory[kBytes];
  memset(memory, letter, kBytes);
  for (int i = 0; i < kPlaces; ++i)
    CHECK_MPI(MPI_File_write_at(to, place(i, rank), memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void read_all_places(MPI_File from, char letter) {
  unsigned char memory[kBytes], expected[kBytes];
  memset(expected, letter, kBytes);
  for (int i = 0; i < kPlaces; ++i) {
    CHECK_MPI(MPI_File_read_at(from, place(i, rank), memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(memory, expected, kBytes) == 0);
  }
}

static int at_end(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value, (void)state;
  read_all_places(file, (char)('a' + rank));
  write_all_places(file, (char)('A' + rank));
  return MPI_File_close(&file);
}

int main(int argc, char** argv) {
  CHECK_MPI(MPI_Init(&argc, &argv));
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(argc == 3);
  const int alone = strcmp(argv[2], "alone") == 0;
  if (!alone) {
    int key;
    CHECK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL));
    CHECK_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
  }
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  for (int round = 0; round < 3; ++round) write_all_places(file, (char)('0' + round));
  write_all_places(file, (char)('a' + rank));
  if (alone) {
    MPI_File own;
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
      CHECK_MPI(MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &own));
    CHECK_MPI(MPI_File_close(&file));
    if (rank == 0) {
      sleep(1);  // the others are in MPI_Finalize
      read_all_places(own, 'a');
      write_all_places(own, 'A');
      read_all_places(own, 'A');
      CHECK_MPI(MPI_File_close(&own));
    }
  }
  MPI_Finalize();
  return 0;
}
