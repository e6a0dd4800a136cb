// The first large collective access gives the owners other parts of the file. Bytes that ranks
// wrote before it, by themselves, are where all ranks find them afterwards, and so are those of
// ranks that open the file alone later; in the same file and after it was closed.
//
// ranks: 4
// not under: nodes process job guests
#include <string.h>

#include "check.h"

enum { kPiece = 4096, kRows = 256, kBytes = kPiece * kRows, kHeader = 5000 };

static int rank, ranks;
static unsigned char* memory;

// The file is an array of 2 * kRows rows of ranks / 2 pieces behind a header: a rank has a tile of
// kRows rows, and the ranks of one node follow each other.
static MPI_Offset place_of(int of_rank, int row, int variable) {
  const MPI_Offset width = (MPI_Offset)kPiece * (ranks / 2);
  const MPI_Offset first = kHeader + variable * 2 * kRows * width;
  return first + (of_rank / (ranks / 2) * kRows + row) * width +
         of_rank % (ranks / 2) * (MPI_Offset)kPiece;
}

static void set_tile_view(MPI_File file, int of_rank, int variable) {
  MPI_Datatype tile;
  CHECK_MPI(MPI_Type_vector(kRows, kPiece, kPiece * (ranks / 2), MPI_BYTE, &tile));
  CHECK_MPI(MPI_Type_commit(&tile));
  CHECK_MPI(MPI_File_set_view(file, place_of(of_rank, 0, variable), MPI_BYTE, tile, "native",
                              MPI_INFO_NULL));
  CHECK_MPI(MPI_Type_free(&tile));
}

static void fill_tile(int of_rank, int variable, int round) {
  for (int row = 0; row < kRows; ++row)
    fill_bytes(memory + row * kPiece, place_of(of_rank, row, variable) + 7919 * round, kPiece);
}

static void check_tile(int of_rank, int variable, int round) {
  for (int row = 0; row < kRows; ++row)
    CHECK(wrong_bytes(memory + row * kPiece, place_of(of_rank, row, variable) + 7919 * round,
                      kPiece) == 0);
}

static void write_tile(MPI_File file, int variable, int round) {
  set_tile_view(file, rank, variable);
  fill_tile(rank, variable, round);
  CHECK_MPI(MPI_File_write_all(file, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void read_tile(MPI_File file, int of_rank, int variable, int round, int together) {
  MPI_Status status;
  int count;
  set_tile_view(file, of_rank, variable);
  memset(memory, 0, kBytes);
  CHECK_MPI(
      (together ? MPI_File_read_all : MPI_File_read)(file, memory, kBytes, MPI_BYTE, &status));
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK(count == kBytes);
  check_tile(of_rank, variable, round);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void access_record(MPI_File file, MPI_Offset offset, int round, int writes) {
  unsigned char record[1000];
  fill_bytes(record, offset + 7919 * round, sizeof record);
  if (writes) {
    CHECK_MPI(MPI_File_write_at(file, offset, record, sizeof record, MPI_BYTE, MPI_STATUS_IGNORE));
    return;
  }
  memset(record, 0, sizeof record);
  CHECK_MPI(MPI_File_read_at(file, offset, record, sizeof record, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(wrong_bytes(record, offset + 7919 * round, sizeof record) == 0);
}

// Each rank, with the file open by itself, changes a record of another's tile; the others see it,
// and put the old bytes back.
static void change_alone(const char* path, MPI_File file) {
  const int other = (rank + ranks / 2) % ranks;
  MPI_File alone;
  CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_MPI(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &alone));
  access_record(alone, place_of(other, 9, 0), 1, 0);
  access_record(alone, place_of(other, 9, 0), 5, 1);
  CHECK_MPI(MPI_File_sync(alone));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_File_sync(file));
  access_record(file, place_of(rank, 9, 0), 5, 0);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  access_record(file, place_of(rank, 9, 0), 1, 1);
  CHECK_MPI(MPI_File_sync(file));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_File_close(&alone));
}

static void check_header(MPI_File file) {
  CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  for (int of_rank = 0; of_rank < ranks; ++of_rank) access_record(file, 1000 * of_rank, 0, 0);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  memory = malloc(kBytes);
  char path[4096];
  snprintf(path, sizeof path, "%s/parts", argv[1]);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "forebay_domain_size", "64KiB");
  MPI_File file;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, mode, info, &file));
  // By the parts that owners have at first: a header, and bytes of the tiles that are written
  // later.
  access_record(file, 1000 * rank, 0, 1);
  access_record(file, place_of((rank + 1) % ranks, 3, 0), 3, 1);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  access_record(file, place_of(rank, 3, 0), 3, 0);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  write_tile(file, 0, 1);
  check_header(file);
  read_tile(file, (rank + 1) % ranks, 0, 1, 1);
  read_tile(file, (rank + 3) % ranks, 0, 1, 0);
  write_tile(file, 1, 2);
  read_tile(file, (rank + 2) % ranks, 1, 2, 0);
  change_alone(path, file);
  MPI_Offset size;
  CHECK_MPI(MPI_File_get_size(file, &size));
  CHECK(size == place_of(ranks - 1, kRows - 1, 1) + kPiece);
  CHECK_MPI(MPI_File_close(&file));

  // Later opens, whose first access is independent, collective, or only reads.
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &file));
  check_header(file);
  read_tile(file, (rank + 2) % ranks, 0, 1, 1);
  write_tile(file, 0, 4);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  read_tile(file, (rank + 3) % ranks, 0, 4, 0);
  CHECK_MPI(MPI_File_close(&file));
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, info, &file));
  read_tile(file, rank, 1, 2, 1);
  read_tile(file, (rank + 1) % ranks, 0, 4, 0);
  check_header(file);
  CHECK_MPI(MPI_File_close(&file));
  MPI_Info_free(&info);
  free(memory);
  MPI_Finalize();
  return 0;
}
