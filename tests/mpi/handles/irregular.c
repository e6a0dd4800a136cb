// Reads scattered records of a file in an order that no rule describes, the same in each run, and
// checks them: irregular FOLDER [SKIPPED]. With SKIPPED, every so-manieth read is left out.
#include <unistd.h>

#include "check.h"

enum { kRecord = 600, kRecords = 2000, kReads = 600 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int skipped = argc > 2 ? atoi(argv[2]) : 0;
  static unsigned char memory[kRecord];
  char path[4096];
  snprintf(path, sizeof path, "%s/records", argv[1]);
  MPI_File file;
  if (rank == 0) {
    FILE* made = fopen(path, "wb");
    CHECK(made != NULL);
    for (MPI_Offset r = 0; r < kRecords; ++r) {
      fill_bytes(memory, r * kRecord, kRecord);
      CHECK(fwrite(memory, 1, kRecord, made) == kRecord);
    }
    fclose(made);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  // The second open reads other records than the first one.
  for (int open = 0; open < 2; ++open) {
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    uint64_t state = (uint64_t)(rank + 10 * open + 1);
    for (int i = 0; i < kReads; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const MPI_Offset record = (MPI_Offset)((state >> 33) % kRecords);
      if (skipped > 0 && i % skipped == 0) continue;
      CHECK_MPI(
          MPI_File_read_at(file, record * kRecord, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
      CHECK(wrong_bytes(memory, record * kRecord, kRecord) == 0);
      usleep(200);
    }
    CHECK_MPI(MPI_File_close(&file));
  }
  MPI_Finalize();
  return 0;
}
