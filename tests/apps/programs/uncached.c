// Files that the cache serves always, sometimes, or not at all; their names say why:
//   uncached FOLDER
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { run_bytes = 1 << 10, runs = 1 << 12, large_bytes = 2 << 20 };

static int rank, ranks;
static const char* folder;
static char data[run_bytes * runs];

static MPI_File open_file(const char* name, int amode, const char* key, const char* value) {
  char path[4096];
  MPI_File file;
  MPI_Info info = MPI_INFO_NULL;
  if (key != NULL) {
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
  }
  snprintf(path, sizeof path, "%s/%s", folder, name);
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, amode | MPI_MODE_CREATE, info, &file));
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return file;
}

static void write_times(MPI_File file, int times) {
  for (int i = 0; i < times; ++i)
    MPI_File_write_at(file, 100 * (ranks * i + rank), data, 100, MPI_BYTE, MPI_STATUS_IGNORE);
}

// One call of many runs, one of a long run, one of no bytes.
static void view(void) {
  MPI_Datatype type;
  MPI_File file = open_file("view", MPI_MODE_RDWR, NULL, NULL);
  MPI_Type_vector(runs, run_bytes, run_bytes * ranks, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_File_set_view(file, run_bytes * rank, MPI_BYTE, type, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, data, run_bytes * runs, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_write_all(file, data, 0, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Type_free(&type);
}

static void large(void) {
  MPI_File file = open_file("large", MPI_MODE_RDWR, NULL, NULL);
  MPI_File_write_at(file, (MPI_Offset)large_bytes * rank, data, large_bytes, MPI_BYTE,
                    MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

static void hinted(const char* name, int times, const char* key, const char* value) {
  MPI_File file = open_file(name, MPI_MODE_RDWR, key, value);
  write_times(file, times);
  MPI_File_close(&file);
}

static void sequential(void) {
  MPI_File file = open_file("sequential", MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, NULL, NULL);
  MPI_File_write_shared(file, data, 100, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_write_ordered_begin(file, data, 100, MPI_BYTE);
  MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

static void foreign(void) {
  MPI_File file = open_file("foreign", MPI_MODE_RDWR, NULL, NULL);
  write_times(file, 1);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL);
  write_times(file, 2);
  MPI_File_close(&file);
}

static void atomic(void) {
  MPI_File file = open_file("atomic", MPI_MODE_RDWR, "forebay_scope", "process");
  write_times(file, 1);
  MPI_File_set_atomicity(file, 1);
  write_times(file, 2);
  MPI_File_close(&file);
}

static void pointer(void) {
  MPI_File file = open_file("pointer", MPI_MODE_RDWR, "forebay_consistency", "mpi");
  write_times(file, 1);
  MPI_File_write_shared(file, data, 100, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 2);
  folder = argv[1];
  view();
  large();
  hinted("disabled", 3, "forebay_enable", "false");
  hinted("aside", 1, "forebay_step_aside", "always");
  hinted("differing", 1, "forebay_scope", rank == 0 ? "process" : "node");
  sequential();
  foreign();
  atomic();
  pointer();
  MPI_Finalize();
  return 0;
}
