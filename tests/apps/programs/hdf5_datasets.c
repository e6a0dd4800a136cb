// Parallel HDF5: contiguous and chunked datasets, written independently and collectively by
// interleaved hyperslabs; attributes; an extended dataset. Other ranks reopen and verify the file.
//
// usage: hdf5_datasets FOLDER
#include <hdf5.h>

#include "check.h"

enum { kRows = 24, kColumns = 37 };  // of each rank's part

static int rank, size;

static int value_at(hsize_t row, hsize_t column) { return (int)(row * 10007 + column * 13 + 1); }

// A selection of `rows` rows: row0, row0 + step, ...; likewise columns. The memory is dense.
typedef struct {
  hsize_t row0, row_step, rows, column0, column_step, columns;
} Slab;

static hid_t select_slab(hid_t dataset, Slab slab) {
  hid_t space = H5Dget_space(dataset);
  hsize_t start[2] = {slab.row0, slab.column0}, stride[2] = {slab.row_step, slab.column_step};
  hsize_t count[2] = {slab.rows, slab.columns};
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL) >= 0);
  return space;
}

static void transfer(hid_t dataset, Slab slab, H5FD_mpio_xfer_t mode, int writing) {
  hsize_t dense[2] = {slab.rows, slab.columns};
  hid_t memory_space = H5Screate_simple(2, dense, NULL);
  hid_t file_space = select_slab(dataset, slab);
  hid_t plist = H5Pcreate(H5P_DATASET_XFER);
  CHECK(H5Pset_dxpl_mpio(plist, mode) >= 0);
  int* values = calloc(slab.rows * slab.columns, sizeof *values);
  for (hsize_t i = 0; writing && i < slab.rows; ++i)
    for (hsize_t j = 0; j < slab.columns; ++j)
      values[i * slab.columns + j] =
          value_at(slab.row0 + i * slab.row_step, slab.column0 + j * slab.column_step);
  if (writing) {
    CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, memory_space, file_space, plist, values) >= 0);
  } else {
    CHECK(H5Dread(dataset, H5T_NATIVE_INT, memory_space, file_space, plist, values) >= 0);
    for (hsize_t i = 0; i < slab.rows; ++i)
      for (hsize_t j = 0; j < slab.columns; ++j)
        CHECK(values[i * slab.columns + j] ==
              value_at(slab.row0 + i * slab.row_step, slab.column0 + j * slab.column_step));
  }
  free(values);
  H5Pclose(plist);
  H5Sclose(file_space);
  H5Sclose(memory_space);
}

// The part of rank r: a block of rows, interleaved rows, or interleaved columns.
static Slab row_block(int r) { return (Slab){(hsize_t)r * kRows, 1, kRows, 0, 1, kColumns}; }
static Slab row_comb(int r) { return (Slab){(hsize_t)r, (hsize_t)size, kRows, 0, 1, kColumns}; }
static Slab column_comb(int r) { return (Slab){0, 1, kRows, (hsize_t)r, (hsize_t)size, kColumns}; }

typedef struct {
  const char* name;
  Slab (*share)(int);
  int by_columns;  // the ranks divide the columns, not the rows
  int chunked;
  H5FD_mpio_xfer_t mode;
} Case;

static const Case kCases[] = {
    {"block_independent", row_block, 0, 0, H5FD_MPIO_INDEPENDENT},
    {"block_collective", row_block, 0, 0, H5FD_MPIO_COLLECTIVE},
    {"rows_independent", row_comb, 0, 0, H5FD_MPIO_INDEPENDENT},
    {"rows_collective", row_comb, 0, 0, H5FD_MPIO_COLLECTIVE},
    {"columns_independent", column_comb, 1, 0, H5FD_MPIO_INDEPENDENT},
    {"columns_collective", column_comb, 1, 0, H5FD_MPIO_COLLECTIVE},
    {"chunked_independent", row_comb, 0, 1, H5FD_MPIO_INDEPENDENT},
    {"chunked_collective", column_comb, 1, 1, H5FD_MPIO_COLLECTIVE},
};
enum { kCaseCount = sizeof kCases / sizeof kCases[0] };

static hid_t creation_properties(int chunked) {
  hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(properties, 0);  // so that the files of two runs are equal
  hsize_t chunk[2] = {7, 5};
  if (chunked) CHECK(H5Pset_chunk(properties, 2, chunk) >= 0);
  return properties;
}

static void write_attribute(hid_t object, const char* name, int value) {
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(object, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT, &value) >= 0);
  H5Aclose(attribute);
  H5Sclose(space);
}

static void check_attribute(hid_t object, const char* name, int expected) {
  hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  int value = 0;
  CHECK(attribute >= 0 && H5Aread(attribute, H5T_NATIVE_INT, &value) >= 0 && value == expected);
  H5Aclose(attribute);
}

static void write_case(hid_t group, const Case* c) {
  hsize_t extent[2] = {kRows * (c->by_columns ? 1u : (unsigned)size),
                       kColumns * (c->by_columns ? (unsigned)size : 1u)};
  hid_t space = H5Screate_simple(2, extent, NULL);
  hid_t properties = creation_properties(c->chunked);
  hid_t dataset =
      H5Dcreate2(group, c->name, H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  CHECK(dataset >= 0);
  transfer(dataset, c->share(rank), c->mode, 1);
  write_attribute(dataset, "by_columns", c->by_columns);
  H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
}

// A chunked dataset that grows by a block of rows per step, like a time series.
static void write_series(hid_t group) {
  hsize_t extent[2] = {0, kColumns}, most[2] = {H5S_UNLIMITED, kColumns};
  hid_t space = H5Screate_simple(2, extent, most);
  hid_t properties = creation_properties(1);
  hid_t dataset =
      H5Dcreate2(group, "series", H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  for (int step = 0; step < 3; ++step) {
    extent[0] += (hsize_t)size;
    CHECK(H5Dset_extent(dataset, extent) >= 0);
    Slab row = {(hsize_t)(step * size + rank), 1, 1, 0, 1, kColumns};
    transfer(dataset, row, H5FD_MPIO_INDEPENDENT, 1);
  }
  H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
}

static hid_t parallel_access(void) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  return access;
}

static void write_file(const char* path) {
  hid_t access = parallel_access();
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file >= 0);
  hid_t group = H5Gcreate2(file, "cases", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  write_attribute(group, "ranks", size);
  for (int i = 0; i < kCaseCount; ++i) write_case(group, &kCases[i]);
  CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
  write_series(group);
  H5Gclose(group);
  CHECK(H5Fclose(file) >= 0);
  H5Pclose(access);
}

static void verify_file(const char* path) {
  hid_t access = parallel_access();
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
  CHECK(file >= 0);
  hid_t group = H5Gopen2(file, "cases", H5P_DEFAULT);
  check_attribute(group, "ranks", size);
  for (int i = 0; i < kCaseCount; ++i) {
    hid_t dataset = H5Dopen2(group, kCases[i].name, H5P_DEFAULT);
    check_attribute(dataset, "by_columns", kCases[i].by_columns);
    transfer(dataset, kCases[i].share((rank + 1) % size), H5FD_MPIO_COLLECTIVE, 0);
    transfer(dataset, kCases[i].share(rank), H5FD_MPIO_INDEPENDENT, 0);
    H5Dclose(dataset);
  }
  hid_t series = H5Dopen2(group, "series", H5P_DEFAULT);
  transfer(series, (Slab){0, 1, 3 * (hsize_t)size, 0, 1, kColumns}, H5FD_MPIO_INDEPENDENT, 0);
  H5Dclose(series);
  H5Gclose(group);
  CHECK(H5Fclose(file) >= 0);
  H5Pclose(access);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 2);
  char path[4096];
  snprintf(path, sizeof path, "%s/datasets.h5", argv[1]);
  write_file(path);
  verify_file(path);
  if (rank == 0) printf("verified\n");
  MPI_Finalize();
  return 0;
}
