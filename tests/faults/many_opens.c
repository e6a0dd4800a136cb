// Opens and closes files thousands of times with at most 256 descriptors. Several files are open at
// a time, some by all ranks and some by one. No descriptor may be lost.
//
//   many_opens DIR OPENS: OPENS is the number of opens of each rank.
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

enum { kDescriptors = 256, kAtOnce = 6, kRecord = 300, kRecords = 20 };

// Number of open descriptors of files below `folder`; "": of all.
static int open_descriptors(const char* folder) {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  CHECK(directory != NULL);
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    char target[4096];
    const ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target);
    if (length > 0 && strncmp(target, folder, strlen(folder)) == 0) ++count;
  }
  closedir(directory);
  return count;
}

// All ranks open every second file together. The other files belong to one rank, with its number in
// their names.
static void open_number(const char* folder, int rank, int64_t number, MPI_File* file) {
  char path[4096];
  const int together = number % 2 == 0;
  snprintf(path, sizeof path, "%s/%s%d.%d", folder, together ? "all" : "own", together ? 0 : rank,
           (int)(number % 14));
  CHECK_MPI(MPI_File_open(together ? MPI_COMM_WORLD : MPI_COMM_SELF, path,
                          MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, file));
}

static void use(MPI_File file, int rank, int64_t number) {
  unsigned char record[kRecord];
  const int parts = number % 2 == 0 ? 2 : 1;
  for (int i = 0; i < kRecords; ++i) {
    const MPI_Offset offset = ((MPI_Offset)i * parts + (parts == 2 ? rank : 0)) * kRecord;
    fill_bytes(record, offset + number % 14, kRecord);
    CHECK_MPI(MPI_File_write_at(file, offset, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_read_at(file, offset, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(record, offset + number % 14, kRecord) == 0);
  }
}

int main(int argc, char** argv) {
  const struct rlimit limit = {kDescriptors, kDescriptors};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char folder[PATH_MAX];
  CHECK(realpath(argv[1], folder) != NULL);
  const int64_t opens = atoll(argv[2]);
  MPI_File files[kAtOnce];
  int at_first = 0;
  for (int64_t number = 0; number < opens; ++number) {
    MPI_File* file = &files[number % kAtOnce];
    if (number >= kAtOnce) CHECK_MPI(MPI_File_close(file));
    open_number(folder, rank, number, file);
    use(*file, rank, number);
    if (number == opens / 10) at_first = open_descriptors("");
  }
  const int at_last = open_descriptors("");
  // Files of which this process commits pages for others may stay open for a while, but no more
  // than all ranks have open at a time.
  const int more = at_last - at_first;
  if (more > 2 * kAtOnce) fprintf(stderr, "%d descriptors became %d\n", at_first, at_last);
  CHECK(more <= 2 * kAtOnce);
  for (int i = 0; i < kAtOnce; ++i) CHECK_MPI(MPI_File_close(&files[(opens + i) % kAtOnce]));
  // A single rank has no others for which it might commit.
  CHECK(size > 1 || open_descriptors(folder) == 0);
  MPI_Finalize();
  return 0;
}
