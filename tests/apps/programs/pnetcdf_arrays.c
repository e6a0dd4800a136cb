// PnetCDF: collective and independent puts and gets, strided and mapped ones, nonblocking requests
// completed together by wait_all, a record variable; reopened and verified.
//
// usage: pnetcdf_arrays FOLDER
#include <pnetcdf.h>

#include "check.h"

enum { kRows = 12, kColumns = 18, kRecords = 3 };

#define CHECK_NC(call) CHECK((call) == NC_NOERR)

static int rank, size;

static int value_at(MPI_Offset row, MPI_Offset column) { return (int)(row * 1009 + column + 5); }

// The columns of a rank: every size-th column from the rank's own on.
static void comb_share(int file, int variable, int r, int reading) {
  MPI_Offset start[2] = {0, r}, count[2] = {kRows, kColumns}, stride[2] = {1, size};
  int values[kRows][kColumns];
  for (int i = 0; !reading && i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) values[i][j] = value_at(i, r + (MPI_Offset)j * size);
  if (!reading) {
    CHECK_NC(ncmpi_put_vars_int_all(file, variable, start, count, stride, &values[0][0]));
    return;
  }
  CHECK_NC(ncmpi_get_vars_int_all(file, variable, start, count, stride, &values[0][0]));
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) CHECK(values[i][j] == value_at(i, r + (MPI_Offset)j * size));
}

// The rows of a rank, accessed one by one and independently.
static void row_share(int file, int variable, int r, int reading) {
  for (int i = 0; i < kRows; ++i) {
    MPI_Offset start[2] = {(MPI_Offset)r * kRows + i, 0}, count[2] = {1, kColumns};
    int values[kColumns];
    for (int j = 0; !reading && j < kColumns; ++j) values[j] = value_at(start[0], j);
    if (!reading) {
      CHECK_NC(ncmpi_put_vara_int(file, variable, start, count, values));
      continue;
    }
    CHECK_NC(ncmpi_get_vara_int(file, variable, start, count, values));
    for (int j = 0; j < kColumns; ++j) CHECK(values[j] == value_at(start[0], j));
  }
}

// One pending request per record, all completed together.
static void record_share(int file, int variable, int r, int reading) {
  int values[kRecords][kColumns], requests[kRecords], statuses[kRecords];
  for (int k = 0; k < kRecords; ++k) {
    MPI_Offset start[2] = {k, (MPI_Offset)r * kColumns}, count[2] = {1, kColumns};
    for (int j = 0; !reading && j < kColumns; ++j) values[k][j] = value_at(k, start[1] + j);
    CHECK_NC(reading ? ncmpi_iget_vara_int(file, variable, start, count, values[k], &requests[k])
                     : ncmpi_iput_vara_int(file, variable, start, count, values[k], &requests[k]));
  }
  CHECK_NC(ncmpi_wait_all(file, kRecords, requests, statuses));
  for (int k = 0; k < kRecords; ++k) {
    CHECK(statuses[k] == NC_NOERR);
    for (int j = 0; j < kColumns; ++j)
      CHECK(values[k][j] == value_at(k, (MPI_Offset)r * kColumns + j));
  }
}

static void write_file(const char* path) {
  int file, rows, all_rows, columns, all_columns, time, comb, blocks, records;
  CHECK_NC(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
  CHECK_NC(ncmpi_def_dim(file, "rows", kRows, &rows));
  CHECK_NC(ncmpi_def_dim(file, "all_rows", (MPI_Offset)kRows * size, &all_rows));
  CHECK_NC(ncmpi_def_dim(file, "columns", kColumns, &columns));
  CHECK_NC(ncmpi_def_dim(file, "all_columns", (MPI_Offset)kColumns * size, &all_columns));
  CHECK_NC(ncmpi_def_dim(file, "time", NC_UNLIMITED, &time));
  CHECK_NC(ncmpi_def_var(file, "comb", NC_INT, 2, (int[]){rows, all_columns}, &comb));
  CHECK_NC(ncmpi_def_var(file, "blocks", NC_INT, 2, (int[]){all_rows, columns}, &blocks));
  CHECK_NC(ncmpi_def_var(file, "records", NC_INT, 2, (int[]){time, all_columns}, &records));
  CHECK_NC(ncmpi_put_att_int(file, NC_GLOBAL, "ranks", NC_INT, 1, &size));
  CHECK_NC(ncmpi_enddef(file));
  comb_share(file, comb, rank, 0);
  record_share(file, records, rank, 0);
  CHECK_NC(ncmpi_begin_indep_data(file));
  row_share(file, blocks, rank, 0);
  CHECK_NC(ncmpi_end_indep_data(file));
  CHECK_NC(ncmpi_close(file));
}

static void verify_file(const char* path) {
  int file, comb, blocks, records, ranks;
  CHECK_NC(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file));
  CHECK_NC(ncmpi_get_att_int(file, NC_GLOBAL, "ranks", &ranks));
  CHECK(ranks == size);
  CHECK_NC(ncmpi_inq_varid(file, "comb", &comb));
  CHECK_NC(ncmpi_inq_varid(file, "blocks", &blocks));
  CHECK_NC(ncmpi_inq_varid(file, "records", &records));
  int other = (rank + 1) % size;
  comb_share(file, comb, other, 1);
  record_share(file, records, other, 1);
  CHECK_NC(ncmpi_begin_indep_data(file));
  row_share(file, blocks, other, 1);
  CHECK_NC(ncmpi_end_indep_data(file));
  CHECK_NC(ncmpi_close(file));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 2);
  char path[4096];
  snprintf(path, sizeof path, "%s/arrays.nc", argv[1]);
  write_file(path);
  verify_file(path);
  if (rank == 0) printf("verified\n");
  MPI_Finalize();
  return 0;
}
