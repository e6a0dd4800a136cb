// lost_agents FILE JOB: ranks of two nodes write, then the agents of both are killed. Accesses of
// another node's bytes must fail, those of the own node's go on, and nothing hangs. A rank prints a
// line for each access: whose bytes, and the class of the result. Files that ranks open by
// themselves are cached as ever, without the directory that one of the agents kept.
#include "check.h"
#include "kill_agents.h"

enum { kChunk = 1 << 16, kRecord = 100 };

static int rank;

static void write_record(MPI_File file, int chunk, int expect_success) {
  unsigned char memory[kRecord];
  const MPI_Offset offset = (MPI_Offset)chunk * kChunk + rank * kRecord;
  fill_bytes(memory, offset, kRecord);
  const int code = MPI_File_write_at(file, offset, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE);
  if (expect_success) {
    CHECK_MPI(code);
    return;
  }
  int found = MPI_SUCCESS;
  MPI_Error_class(code, &found);
  printf("%s: %s\n", chunk % 2 == rank % 2 ? "own" : "other",
         found == MPI_SUCCESS  ? "written"
         : found == MPI_ERR_IO ? "MPI_ERR_IO"
                               : "another error");
}

static void use_file_alone(void) {
  char name[64];
  unsigned char memory[kRecord];
  snprintf(name, sizeof name, "alone-%d.bin", rank);
  for (int opens = 0; opens < 2; ++opens) {
    MPI_File file;
    CHECK_MPI(
        MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    fill_bytes(memory, opens * kRecord, kRecord);
    CHECK_MPI(
        MPI_File_write_at(file, opens * kRecord, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_read_at(file, 0, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory, 0, kRecord) == 0);
    CHECK_MPI(MPI_File_close(&file));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  write_record(file, 0, 1);
  write_record(file, 1, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(kill_agents(argv[2]) == 2);
  MPI_Barrier(MPI_COMM_WORLD);
  write_record(file, 2, 0);
  write_record(file, 3, 0);
  CHECK_MPI(MPI_File_close(&file));
  use_file_alone();
  MPI_Finalize();
  return 0;
}
