// FLASH I/O (Settlemyer 3.2.2.3): a checkpoint and two plot files, each of about 250 (--count) data
// sets. To a data set each rank contributes one unaligned independent write of 1 to 50 KB, mostly
// small; 7.5 MB per process over the three files. As HDF5 does, rank 0 puts a small object header
// before each data set, and writes the superblock twice: blank at the start, complete at the end.
#include "workload.h"

enum { SUPERBLOCK = 96 };

static double uniform(uint64_t seed) { return (double)(workload_mix(seed) >> 11) * 0x1p-53; }

// Bytes that a rank contributes to a data set: an odd number, 1 to 50 KB, 10 KB on average.
static int contribution(int file, long long set, int rank) {
  const double u = uniform(((uint64_t)file << 48) + ((uint64_t)set << 24) + (uint64_t)rank);
  return 1 | (int)(1000 + 49000 * (u * u * u * u) * (u > 0.5 ? u : 0.5 * u));
}

static int header_bytes(int file, long long set) {
  return 96 + (int)(workload_mix(((uint64_t)file << 32) + (uint64_t)set) % 449);
}

static void write_output(struct repetition* r, int index, const char* name, long long sets) {
  const char* path = new_file(r, name);
  char blank[SUPERBLOCK] = {0};

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  workload_check(MPI_File_set_size(file, 0), "set_size", path);
  phase_end(r, "open");

  phase_begin(r);
  long long end = SUPERBLOCK;
  if (workload_rank == 0) {
    workload_check(MPI_File_write_at(file, 0, blank, SUPERBLOCK, MPI_BYTE, MPI_STATUS_IGNORE),
                   "write", path);
    r->write_calls += 1;
    r->written_bytes += SUPERBLOCK;
  }
  for (long long set = 0; set < sets; ++set) {
    if (workload_rank == 0) write_at(r, file, end, header_bytes(index, set));
    end += header_bytes(index, set);
    for (int rank = 0; rank < workload_ranks; ++rank) {
      const int bytes = contribution(index, set, rank);
      if (rank == workload_rank) write_at(r, file, end, bytes);
      end += bytes;
    }
  }
  if (workload_rank == 0) write_at(r, file, 0, SUPERBLOCK);
  phase_end(r, "write");
  r->file_bytes[r->files - 1] = end;

  close_file(r, file, path);
}

static void run(struct repetition* r) {
  const long long sets = r->count ? r->count : 250;
  write_output(r, 0, "flash_checkpoint", sets);
  write_output(r, 1, "flash_plot_centered", sets);
  write_output(r, 2, "flash_plot_corner", sets);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "flash", run); }
