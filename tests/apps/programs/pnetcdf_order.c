// PnetCDF: fill values by all ranks, then columns by their owners, written and read collectively
// without a sync between: the library relies on the order of collective calls. Read again by other
// ranks, and after the file has been opened again.
//
// usage: pnetcdf_order FOLDER
#include <pnetcdf.h>

#include "check.h"

enum { kRows = 60, kColumns = 21, kFill = -7 };

#define CHECK_NC(call) CHECK((call) == NC_NOERR)

static int rank, size;

static int value_at(MPI_Offset row, MPI_Offset column) { return (int)(row * 1009 + column + 5); }

// The columns of rank r, every size-th from its own on; a third of the rows stays unwritten.
static void columns(int file, int variable, int r, int reading) {
  MPI_Offset start[2] = {0, r}, count[2] = {kRows, kColumns}, stride[2] = {1, size};
  static int values[kRows][kColumns];
  if (!reading) {
    count[0] = kRows - kRows / 3;
    for (int i = 0; i < count[0]; ++i)
      for (int j = 0; j < kColumns; ++j) values[i][j] = value_at(i, r + (MPI_Offset)j * size);
    CHECK_NC(ncmpi_put_vars_int_all(file, variable, start, count, stride, &values[0][0]));
    return;
  }
  CHECK_NC(ncmpi_get_vars_int_all(file, variable, start, count, stride, &values[0][0]));
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j)
      CHECK(values[i][j] ==
            (i < kRows - kRows / 3 ? value_at(i, r + (MPI_Offset)j * size) : kFill));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/order.nc", argv[1]);
  int file, dimensions[2], variable, fill = kFill;
  CHECK_NC(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &file));
  CHECK_NC(ncmpi_def_dim(file, "row", kRows, &dimensions[0]));
  CHECK_NC(ncmpi_def_dim(file, "column", (MPI_Offset)kColumns * size, &dimensions[1]));
  CHECK_NC(ncmpi_def_var(file, "values", NC_INT, 2, dimensions, &variable));
  CHECK_NC(ncmpi_def_var_fill(file, variable, 0, &fill));
  CHECK_NC(ncmpi_enddef(file));  // fills the variable
  columns(file, variable, rank, 0);
  for (int r = 0; r < size; ++r) columns(file, variable, (rank + r) % size, 1);
  CHECK_NC(ncmpi_close(file));
  CHECK_NC(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file));
  for (int r = 0; r < size; ++r) columns(file, variable, (rank + r) % size, 1);
  CHECK_NC(ncmpi_close(file));
  MPI_Finalize();
  return 0;
}
