// Parallel netCDF-4: an HDF5-based file, written by rows collectively and by columns independently,
// with attributes; reopened and verified.
//
// usage: netcdf4_parallel FOLDER
#include "check.h"
// netCDF's own header declares its parallel calls only after MPI's.
#include <netcdf.h>
#include <netcdf_par.h>

enum { kRows = 16, kColumns = 21 };

#define CHECK_NC(call) CHECK((call) == NC_NOERR)

static int rank, size;

static double value_at(size_t row, size_t column) { return (double)row * 0.5 + (double)column; }

static void share(int file, int variable, const size_t* start, const size_t* count, int reading) {
  double* values = malloc(count[0] * count[1] * sizeof *values);
  for (size_t i = 0; !reading && i < count[0]; ++i)
    for (size_t j = 0; j < count[1]; ++j)
      values[i * count[1] + j] = value_at(start[0] + i, start[1] + j);
  CHECK_NC(reading ? nc_get_vara_double(file, variable, start, count, values)
                   : nc_put_vara_double(file, variable, start, count, values));
  for (size_t i = 0; i < count[0]; ++i)
    for (size_t j = 0; j < count[1]; ++j)
      CHECK(values[i * count[1] + j] == value_at(start[0] + i, start[1] + j));
  free(values);
}

static void both_variables(int file, int rows, int columns, int r, int reading) {
  CHECK_NC(nc_var_par_access(file, rows, NC_COLLECTIVE));
  CHECK_NC(nc_var_par_access(file, columns, NC_INDEPENDENT));
  size_t row_start[2] = {(size_t)r * kRows, 0}, column_start[2] = {0, (size_t)r * kColumns};
  size_t count[2] = {kRows, kColumns};
  share(file, rows, row_start, count, reading);
  share(file, columns, column_start, count, reading);
}

static void write_file(const char* path) {
  int file, dims[4], rows, columns;
  CHECK_NC(nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  CHECK_NC(nc_def_dim(file, "all_rows", (size_t)kRows * (size_t)size, &dims[0]));
  CHECK_NC(nc_def_dim(file, "columns", kColumns, &dims[1]));
  CHECK_NC(nc_def_dim(file, "rows", kRows, &dims[2]));
  CHECK_NC(nc_def_dim(file, "all_columns", (size_t)kColumns * (size_t)size, &dims[3]));
  CHECK_NC(nc_def_var(file, "by_rows", NC_DOUBLE, 2, &dims[0], &rows));
  CHECK_NC(nc_def_var(file, "by_columns", NC_DOUBLE, 2, &dims[2], &columns));
  CHECK_NC(nc_put_att_int(file, rows, "ranks", NC_INT, 1, &size));
  CHECK_NC(nc_enddef(file));
  both_variables(file, rows, columns, rank, 0);
  CHECK_NC(nc_close(file));
}

static void verify_file(const char* path) {
  int file, rows, columns, ranks;
  CHECK_NC(nc_open_par(path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  CHECK_NC(nc_inq_varid(file, "by_rows", &rows));
  CHECK_NC(nc_inq_varid(file, "by_columns", &columns));
  CHECK_NC(nc_get_att_int(file, rows, "ranks", &ranks));
  CHECK(ranks == size);
  both_variables(file, rows, columns, (rank + 1) % size, 1);
  CHECK_NC(nc_close(file));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 2);
  char path[4096];
  snprintf(path, sizeof path, "%s/netcdf4.nc", argv[1]);
  write_file(path);
  verify_file(path);
  if (rank == 0) printf("verified\n");
  MPI_Finalize();
  return 0;
}
