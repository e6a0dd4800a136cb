// A checkpoint as the FLASH code writes it through parallel HDF5 (Settlemyer 2009, section
// 3.2.2.3): the small tables of the block tree, then 24 variables. Each variable is a dataset of
// all ranks' blocks of 8x8x8 doubles; in memory each block has guard cells around it.
//
// usage: flash_checkpoint FOLDER independent|collective
#include <hdf5.h>
#include <string.h>

#include "check.h"

enum { kVariables = 24, kSide = 8, kGuard = 4, kPadded = kSide + 2 * kGuard, kBlocks = 5 };

static int rank, size;
static H5FD_mpio_xfer_t mode = H5FD_MPIO_INDEPENDENT;

// Ranks have different numbers of blocks, as in an adaptive mesh.
static hsize_t blocks_of(int r) { return kBlocks + (hsize_t)(r % 2); }
static hsize_t first_block_of(int r) {
  hsize_t first = 0;
  for (int i = 0; i < r; ++i) first += blocks_of(i);
  return first;
}

static double cell(int variable, hsize_t block, int z, int y, int x) {
  return variable * 1e6 + (double)block * 1e3 + z * 64 + y * 8 + x;
}

// Transfers this rank's rows [first, first + count) of a dataset.
static void transfer_rows(hid_t file, const char* name, hid_t type, int dimensions,
                          const hsize_t* extent, hid_t memory_space, void* memory, int writing) {
  hid_t space = H5Screate_simple(dimensions, extent, NULL);
  hid_t dataset;
  if (writing) {
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(properties, 0);
    dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Pclose(properties);
  } else {
    dataset = H5Dopen2(file, name, H5P_DEFAULT);
  }
  CHECK(dataset >= 0);
  hsize_t start[4] = {first_block_of(rank)}, count[4];
  memcpy(count, extent, (size_t)dimensions * sizeof *count);
  count[0] = blocks_of(rank);
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
  hid_t plist = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(plist, mode);
  if (writing)
    CHECK(H5Dwrite(dataset, type, memory_space, space, plist, memory) >= 0);
  else
    CHECK(H5Dread(dataset, type, memory_space, space, plist, memory) >= 0);
  H5Pclose(plist);
  H5Dclose(dataset);
  H5Sclose(space);
}

static void tree_table(hid_t file, int writing) {
  hsize_t extent[2] = {first_block_of(size), 3}, mine[2] = {blocks_of(rank), 3};
  hid_t memory_space = H5Screate_simple(2, mine, NULL);
  double table[kBlocks + 1][3] = {{0}};
  for (hsize_t b = 0; writing && b < mine[0]; ++b)
    for (int i = 0; i < 3; ++i) table[b][i] = (double)(first_block_of(rank) + b) + i * 0.25;
  transfer_rows(file, "coordinates", H5T_NATIVE_DOUBLE, 2, extent, memory_space, table, writing);
  for (hsize_t b = 0; b < mine[0]; ++b)
    for (int i = 0; i < 3; ++i) CHECK(table[b][i] == (double)(first_block_of(rank) + b) + i * 0.25);
  H5Sclose(memory_space);
}

typedef double Block[kPadded][kPadded][kPadded];

static void variable(hid_t file, int number, Block* blocks, int writing) {
  hsize_t mine = blocks_of(rank);
  hsize_t extent[4] = {first_block_of(size), kSide, kSide, kSide};
  hsize_t padded[4] = {mine, kPadded, kPadded, kPadded};
  hsize_t start[4] = {0, kGuard, kGuard, kGuard}, count[4] = {mine, kSide, kSide, kSide};
  hid_t memory_space = H5Screate_simple(4, padded, NULL);
  CHECK(H5Sselect_hyperslab(memory_space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
  memset(blocks, 0xFF, mine * sizeof *blocks);
  for (int pass = writing ? 0 : 1; pass < 2; ++pass) {  // pass 0 fills, pass 1 compares
    if (pass == 1) {
      char name[16];
      snprintf(name, sizeof name, "var%02d", number);
      transfer_rows(file, name, H5T_NATIVE_DOUBLE, 4, extent, memory_space, blocks, writing);
    }
    for (hsize_t b = 0; b < mine; ++b)
      for (int z = 0; z < kSide; ++z)
        for (int y = 0; y < kSide; ++y)
          for (int x = 0; x < kSide; ++x) {
            double* here = &blocks[b][z + kGuard][y + kGuard][x + kGuard];
            double expected = cell(number, first_block_of(rank) + b, z, y, x);
            if (pass == 0) *here = expected;
            CHECK(*here == expected);
          }
  }
  H5Sclose(memory_space);
}

static void checkpoint(const char* path, int writing) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  hid_t file = writing ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                       : H5Fopen(path, H5F_ACC_RDONLY, access);
  CHECK(file >= 0);
  Block* blocks = malloc(blocks_of(rank) * sizeof *blocks);
  tree_table(file, writing);
  for (int i = 0; i < kVariables; ++i) variable(file, i, blocks, writing);
  free(blocks);
  CHECK(H5Fclose(file) >= 0);
  H5Pclose(access);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 3);
  if (strcmp(argv[2], "collective") == 0) mode = H5FD_MPIO_COLLECTIVE;
  char path[4096];
  snprintf(path, sizeof path, "%s/checkpoint.h5", argv[1]);
  checkpoint(path, 1);
  checkpoint(path, 0);
  if (rank == 0) printf("verified\n");
  MPI_Finalize();
  return 0;
}
