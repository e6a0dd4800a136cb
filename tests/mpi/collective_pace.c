// Collective accesses larger than the cache, whose ranks have their bytes in turn: pieces of random
// sizes that all ranks share out, with holes, after the same seed on all ranks. What is written is
// read in turn by the next rank, in one collective call and call by call, and past MPI at the end.
// argv[2]: the seed.
//
// not under: nodes process
#include <string.h>

#include "check.h"

enum { kPieces = 6000, kRounds = 6 };

static int rank, size;
static MPI_Offset places[kPieces];
static int lengths[kPieces], owners[kPieces];
static uint64_t state;

static int draw(int below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)below);
}

// The pieces of a round: small ones, or now and then long ones; shared out evenly, to some ranks
// more than to others, or a region to each.
static MPI_Offset draw_pieces(int round) {
  const int most = round % 3 == 0 ? 64 : 1200, holes = draw(2);
  MPI_Offset at = 0;
  for (int i = 0; i < kPieces; ++i) {
    at += holes ? draw(40) : 0;
    places[i] = at;
    lengths[i] = 1 + draw(most);
    if (draw(500) == 0) lengths[i] += draw(200000);
    at += lengths[i];
    switch (round % 4) {
      case 0:
      case 1:
        owners[i] = i % size;
        break;
      case 2:
        owners[i] = draw(3) == 0 ? draw(size) : 0;
        break;
      default:
        owners[i] = (int)((long long)i * size / kPieces);
    }
  }
  return at;
}

// The type of the pieces that `owner` has; *bytes: their bytes.
static MPI_Datatype pieces_of(int owner, int* bytes) {
  static MPI_Aint at[kPieces];
  static int length[kPieces];
  int count = 0;
  *bytes = 0;
  for (int i = 0; i < kPieces; ++i) {
    if (owners[i] != owner) continue;
    at[count] = (MPI_Aint)places[i];
    length[count] = lengths[i];
    *bytes += lengths[i];
    ++count;
  }
  MPI_Datatype type;
  CHECK_MPI(MPI_Type_create_hindexed(count, length, at, MPI_BYTE, &type));
  CHECK_MPI(MPI_Type_commit(&type));
  return type;
}

static void set_view(MPI_File file, int owner, int* bytes) {
  MPI_Datatype type = pieces_of(owner, bytes);
  CHECK_MPI(
      MPI_File_set_view(file, 0, MPI_BYTE, *bytes > 0 ? type : MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_MPI(MPI_Type_free(&type));
}

static void fill_pieces(unsigned char* memory, int owner, int round) {
  for (int i = 0; i < kPieces; ++i) {
    if (owners[i] != owner) continue;
    fill_bytes(memory, places[i] + 7919 * (MPI_Offset)round, lengths[i]);
    memory += lengths[i];
  }
}

static int wrong_pieces(const unsigned char* memory, int owner, int round) {
  int wrong = 0;
  for (int i = 0; i < kPieces; ++i) {
    if (owners[i] != owner) continue;
    wrong += wrong_bytes(memory, places[i] + 7919 * (MPI_Offset)round, lengths[i]);
    memory += lengths[i];
  }
  return wrong;
}

// The whole file, as the pieces of a round have left it.
static int wrong_file(const char* path, int round) {
  FILE* file = fopen(path, "rb");
  CHECK(file != NULL);
  int wrong = 0;
  static unsigned char memory[300000];
  for (int i = 0; file != NULL && i < kPieces; ++i) {
    CHECK(fseek(file, (long)places[i], SEEK_SET) == 0);
    CHECK(fread(memory, 1, (size_t)lengths[i], file) == (size_t)lengths[i]);
    wrong += wrong_bytes(memory, places[i] + 7919 * (MPI_Offset)round, lengths[i]);
  }
  if (file != NULL) fclose(file);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/file", argv[1]);
  state = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
  for (int round = 0; round < kRounds; ++round) {
    draw_pieces(round);
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "forebay_step_aside", "never");
    if (draw(2)) MPI_Info_set(info, "forebay_cache_size", draw(2) ? "64KiB" : "256KiB");
    if (draw(2)) MPI_Info_set(info, "forebay_page_size", draw(2) ? "4KiB" : "16KiB");
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    MPI_Info_free(&info);
    CHECK_MPI(MPI_File_set_size(file, 0));
    for (int again = 0; again < 2; ++again) {
      int bytes;
      const int content = 2 * round + again;
      set_view(file, rank, &bytes);
      unsigned char* memory = malloc((size_t)bytes + 1);
      fill_pieces(memory, rank, content);
      CHECK_MPI(MPI_File_write_all(file, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
      free(memory);
      const int other = (rank + 1) % size;
      set_view(file, other, &bytes);
      memory = malloc((size_t)bytes + 1);
      MPI_Status status;
      int count;
      CHECK_MPI(MPI_File_read_all(file, memory, bytes, MPI_BYTE, &status));
      MPI_Get_count(&status, MPI_BYTE, &count);
      CHECK(count == bytes);
      CHECK(wrong_pieces(memory, other, content) == 0);
      memset(memory, 0, (size_t)bytes);
      CHECK_MPI(MPI_File_read_at(file, 0, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
      CHECK(wrong_pieces(memory, other, content) == 0);
      free(memory);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK_MPI(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(wrong_file(path, 2 * round + 1) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
