// Ranks that write and read two files at the same time, in many randomly chosen ways: contiguous
// and strided views, contiguous memory and every other byte of it, small and large accesses,
// independent, collective and nonblocking ones, syncs, new sizes, a close and reopen.
//
//     many_ways FILE SEED STEPS shared|own      own: each rank has its own two files
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 2, LARGEST = 40000 };

static uint64_t state;

static int below(int bound) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)bound);
}

static int own_files;
static MPI_Datatype every_other;  // byte of memory

static MPI_File open_file(const char* path, int number) {
  char name[4096];
  MPI_File file;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "%s.%d.%d", path, number, own_files ? rank : 0);
  MPI_File_open(own_files ? MPI_COMM_SELF : MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR,
                MPI_INFO_NULL, &file);
  return file;
}

// A dense view, or one of each rank's own blocks.
static void set_view(MPI_File file, int strided, int rank, int ranks) {
  if (!strided) {
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    return;
  }
  MPI_Datatype blocks;
  MPI_Type_vector(1000, strided, strided * ranks, MPI_BYTE, &blocks);
  MPI_Type_commit(&blocks);
  MPI_File_set_view(file, (MPI_Offset)rank * strided, MPI_BYTE, blocks, "native", MPI_INFO_NULL);
  MPI_Type_free(&blocks);
}

// A collective operation, the same on all ranks.
static void together(MPI_File* files, const char* path, int what, int argument, char* buffer,
                     int rank, int ranks) {
  const int number = argument % FILES;
  switch (what) {
    case 0:
      MPI_File_sync(files[number]);
      break;
    case 1:
      MPI_File_set_size(files[number], argument);
      break;
    case 2:
      MPI_File_preallocate(files[number], argument);
      break;
    case 3:
      MPI_File_close(&files[number]);
      files[number] = open_file(path, number);
      break;
    case 4:
      set_view(files[number], argument % 900, rank, ranks);
      break;
    default:
      MPI_File_write_at_all(files[number], argument + rank * 700, buffer, 700, MPI_BYTE,
                            MPI_STATUS_IGNORE);
  }
}

static void alone(MPI_File file, char* buffer) {
  const int length = below(25) == 0 ? below(LARGEST) : below(3000);
  const MPI_Offset offset = below(80000);
  const MPI_Datatype type = below(3) == 0 ? every_other : MPI_BYTE;
  MPI_Request request;
  switch (below(6)) {
    case 0:
    case 1:
      MPI_File_write_at(file, offset, buffer, length, type, MPI_STATUS_IGNORE);
      break;
    case 2:
      MPI_File_read_at(file, offset, buffer, length, type, MPI_STATUS_IGNORE);
      break;
    case 3:  // one after the other, so that read-ahead begins
      for (int i = 0; i < 8; ++i)
        MPI_File_read_at(file, offset + i * 500, buffer, 500, type, MPI_STATUS_IGNORE);
      break;
    case 4:
      MPI_File_iwrite_at(file, offset, buffer, length, MPI_BYTE, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    default:
      MPI_File_write(file, buffer, length, MPI_BYTE, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_File files[FILES];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  own_files = strcmp(argv[4], "own") == 0;
  MPI_Type_create_resized(MPI_BYTE, 0, 2, &every_other);
  MPI_Type_commit(&every_other);
  char* buffer = malloc(2 * LARGEST);
  for (int i = 0; i < 2 * LARGEST; ++i) buffer[i] = (char)(i * 7 + rank);
  for (int number = 0; number < FILES; ++number) files[number] = open_file(argv[1], number);
  uint64_t common = strtoull(argv[2], NULL, 10);
  const int steps = atoi(argv[3]);
  uint64_t own = common * 1000 + (uint64_t)rank;
  for (int step = 0; step < steps; ++step) {
    state = own;
    for (int i = 0; i < 12; ++i) alone(files[below(FILES)], buffer);
    own = state;
    state = common;
    const int what = below(9);
    together(files, argv[1], what, below(60000), buffer, rank, ranks);
    common = state;
  }
  for (int number = 0; number < FILES; ++number) MPI_File_close(&files[number]);
  MPI_Type_free(&every_other);
  free(buffer);
  MPI_Finalize();
  return 0;
}
