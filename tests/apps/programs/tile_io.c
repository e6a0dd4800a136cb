// Tiles of a dense two-dimensional array, one per rank, written and read through subarray views
// (the access pattern of the mpi-tile-io benchmark). When reading, tiles overlap their neighbours.
//
// usage: tile_io FOLDER collective|independent
#include <string.h>

#include "check.h"

enum { kTileRows = 41, kTileColumns = 29, kElementBytes = 12, kOverlap = 3 };

static int rank, size, collective;
static int grid[2];         // tiles in a column, tiles in a row
static int array_shape[2];  // in elements

// A rectangle of the array: its corner and its extent, in elements.
typedef struct {
  int start[2], extent[2];
} Tile;

static Tile tile_of(int r) {
  Tile tile = {{r / grid[1] * kTileRows, r % grid[1] * kTileColumns}, {kTileRows, kTileColumns}};
  return tile;
}

// The tile, extended by the overlap on every side where the array continues.
static Tile overlapping_tile_of(int r) {
  Tile tile = tile_of(r);
  for (int d = 0; d < 2; ++d) {
    int end = tile.start[d] + tile.extent[d] + kOverlap;
    if (end > array_shape[d]) end = array_shape[d];
    tile.start[d] = tile.start[d] < kOverlap ? 0 : tile.start[d] - kOverlap;
    tile.extent[d] = end - tile.start[d];
  }
  return tile;
}

static int64_t file_position(const Tile* tile, int row) {
  return ((int64_t)(tile->start[0] + row) * array_shape[1] + tile->start[1]) * kElementBytes;
}

static void transfer(MPI_File file, const Tile* tile, unsigned char* memory, int writing) {
  MPI_Datatype element, view;
  MPI_Type_contiguous(kElementBytes, MPI_BYTE, &element);
  MPI_Type_commit(&element);
  MPI_Type_create_subarray(2, array_shape, tile->extent, tile->start, MPI_ORDER_C, element, &view);
  MPI_Type_commit(&view);
  CHECK_MPI(MPI_File_set_view(file, 0, element, view, "native", MPI_INFO_NULL));
  MPI_Type_free(&view);
  int count = tile->extent[0] * tile->extent[1], transferred = -1;
  MPI_Status status;
  if (writing)
    CHECK_MPI(collective ? MPI_File_write_all(file, memory, count, element, &status)
                         : MPI_File_write(file, memory, count, element, &status));
  else
    CHECK_MPI(collective ? MPI_File_read_all(file, memory, count, element, &status)
                         : MPI_File_read(file, memory, count, element, &status));
  MPI_Get_count(&status, element, &transferred);
  CHECK(transferred == count);
  MPI_Type_free(&element);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 3);
  collective = strcmp(argv[2], "collective") == 0;
  MPI_Dims_create(size, 2, grid);
  array_shape[0] = grid[0] * kTileRows;
  array_shape[1] = grid[1] * kTileColumns;

  char path[4096];
  snprintf(path, sizeof path, "%s/tiles", argv[1]);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  Tile tile = tile_of(rank);
  int64_t row_bytes = (int64_t)tile.extent[1] * kElementBytes;
  unsigned char* memory = malloc((size_t)(tile.extent[0] * row_bytes));
  for (int i = 0; i < tile.extent[0]; ++i)
    fill_bytes(memory + i * row_bytes, file_position(&tile, i), row_bytes);
  transfer(file, &tile, memory, 1);
  free(memory);

  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(file));

  tile = overlapping_tile_of((rank + 1) % size);
  row_bytes = (int64_t)tile.extent[1] * kElementBytes;
  memory = malloc((size_t)(tile.extent[0] * row_bytes));
  transfer(file, &tile, memory, 0);
  for (int i = 0; i < tile.extent[0]; ++i)
    CHECK(wrong_bytes(memory + i * row_bytes, file_position(&tile, i), row_bytes) == 0);
  free(memory);
  MPI_Offset bytes = -1;
  CHECK_MPI(MPI_File_get_size(file, &bytes));
  CHECK(bytes == (MPI_Offset)array_shape[0] * array_shape[1] * kElementBytes);
  CHECK_MPI(MPI_File_close(&file));
  if (rank == 0) printf("verified\n");
  MPI_Finalize();
  return 0;
}
