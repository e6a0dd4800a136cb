// striped FILE [CB_NODES]: ranks write interleaved records, of 12 stripes in all, to a file whose
// stripes the hints describe: 128 KiB, on 3 servers. CB_NODES is the value of one more hint.
#include "check.h"

enum { kStripes = 12, kStripe = 1 << 17, kRecord = 1 << 12 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 2 || argc == 3);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "striping_unit", "131072");
  MPI_Info_set(info, "striping_factor", "3");
  if (argc == 3) MPI_Info_set(info, "cb_nodes", argv[2]);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
  for (int record = rank; record < kStripes * kStripe / kRecord; record += ranks) {
    unsigned char memory[kRecord];
    const MPI_Offset offset = (MPI_Offset)record * kRecord;
    fill_bytes(memory, offset, kRecord);
    CHECK_MPI(MPI_File_write_at(file, offset, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_MPI(MPI_File_close(&file));
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
