// Asks for the hints of a file as HDF5 (1.13.2 and later) does when it opens one, and writes as
// HDF5 then lets a program write: by independent calls, unless the hints say that a sync is needed.
// Arguments: files; those after "foreign" get a view that only the MPI library knows.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define KEY "romio_visibility_immediate"

static int rank;

static void write_as_hdf5(const char* name, int foreign) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (foreign) MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL);
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL + 1] = "absent";
  int found;
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, KEY, MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  const int refused = found && strcmp(value, "false") == 0;
  char record[300];
  memset(record, 'a' + rank, sizeof record);
  if (!refused)
    MPI_File_write_at(file, (MPI_Offset)sizeof record * rank, record, sizeof record, MPI_BYTE,
                      MPI_STATUS_IGNORE);
  if (rank == 0) printf("%s: %s, %s\n", name, value, refused ? "refused" : "written");
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  int foreign = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "foreign") == 0)
      foreign = 1;
    else
      write_as_hdf5(argv[i], foreign);
  }
  MPI_Finalize();
  return 0;
}
