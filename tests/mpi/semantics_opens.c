// Several handles of one file (MPI 4.1, section 14.2): with different communicators, names and
// modes; and files that the program does not close.
#include <string.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

static void many_handles(const char* folder) {
  char path[4096], link_path[4096];
  snprintf(path, sizeof path, "%s/opens", folder);
  snprintf(link_path, sizeof link_path, "%s/opens-link", folder);
  MPI_File all, own, odd;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &all));
  if (rank == 0) CHECK(symlink("opens", link_path) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_open(MPI_COMM_SELF, link_path, MPI_MODE_WRONLY, MPI_INFO_NULL, &own));
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  CHECK_MPI(MPI_File_open(half, path, MPI_MODE_RDWR, MPI_INFO_NULL, &odd));
  MPI_Comm_free(&half);
  // Neighbouring records of three ranks, each through another handle.
  unsigned char record[3][100];
  for (int i = 0; i < 3; ++i) fill_bytes(record[i], (rank * 3 + i) * 100, 100);
  MPI_File handles[3] = {all, own, odd};
  for (int i = 0; i < 3; ++i)
    CHECK_MPI(MPI_File_write_at(handles[i], (rank * 3 + i) * 100, record[i], 100, MPI_BYTE,
                                MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_close(&own));
  CHECK_MPI(MPI_File_close(&odd));
  CHECK_MPI(MPI_File_sync(all));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(all));
  const int other = (rank + 1) % size;
  for (int i = 0; i < 3; ++i) {
    CHECK_MPI(
        MPI_File_read_at(all, (other * 3 + i) * 100, record[i], 100, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(record[i], (other * 3 + i) * 100, 100) == 0);
  }
  CHECK_MPI(MPI_File_close(&all));
}

static void hints(const char* folder) {
  char path[4096], value[MPI_MAX_INFO_VAL + 1];
  snprintf(path, sizeof path, "%s/hints", folder);
  MPI_File file;
  MPI_Info info, used;
  int found = 0;
  MPI_Info_create(&info);
  MPI_Info_set(info, "forebay_page_size", "8192");
  MPI_Info_set(info, "nobody_knows", "this");
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
  CHECK_MPI(MPI_File_get_info(file, &used));
  MPI_Info_get(used, "forebay_scope", MPI_MAX_INFO_VAL, value, &found);
  if (found) {  // Forebay has the file
    MPI_Info_get(used, "forebay_page_size", MPI_MAX_INFO_VAL, value, &found);
    CHECK(found && (strcmp(value, "8192") == 0 || strcmp(value, "8KiB") == 0));
  }
  MPI_Info_free(&used);
  CHECK_MPI(MPI_File_set_info(file, info));
  MPI_Info_free(&info);
  MPI_Group group;
  int members = 0, amode = 0;
  CHECK_MPI(MPI_File_get_group(file, &group));
  MPI_Group_size(group, &members);
  MPI_Group_free(&group);
  CHECK_MPI(MPI_File_get_amode(file, &amode));
  CHECK(members == size && amode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
  CHECK_MPI(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);
}

// Whether Forebay caches the file.
static int is_cached(MPI_File file) {
  char value[MPI_MAX_INFO_VAL + 1];
  MPI_Info used;
  int found = 0;
  CHECK_MPI(MPI_File_get_info(file, &used));
  MPI_Info_get(used, "forebay_scope", MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&used);
  return found;
}

// Failed opens do not affect the opens after them.
static void failed_opens(const char* folder) {
  char path[4096];
  MPI_File file;
  snprintf(path, sizeof path, "%s/after-failures", folder);
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  const int cached = is_cached(file);
  CHECK_MPI(MPI_File_close(&file));
  snprintf(path, sizeof path, "%s/missing", folder);
  for (int i = 0; i < 3; ++i)
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) !=
          MPI_SUCCESS);
  snprintf(path, sizeof path, "%s/after-failures", folder);
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  CHECK(is_cached(file) == cached);
  CHECK_MPI(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  many_handles(argv[1]);
  hints(argv[1]);
  failed_opens(argv[1]);
  MPI_Finalize();
  return 0;
}
