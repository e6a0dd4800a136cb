// A rank with dirty pages forks. Whatever the child does, it neither commits nor drops its parent's
// bytes.
//
//   forks FILE: the file must not exist.
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kRecord = 300, kRecords = 500 };

extern char** environ;
static int rank, ranks;

static void write_records(MPI_File file, int first) {
  unsigned char record[kRecord];
  for (int i = first; i < first + kRecords; ++i) {
    const MPI_Offset offset = ((MPI_Offset)i * ranks + rank) * kRecord;
    fill_bytes(record, offset, kRecord);
    CHECK_MPI(MPI_File_write_at(file, offset, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
  }
}

static void check_records(MPI_File file, int end) {
  unsigned char record[kRecord];
  for (int i = 0; i < end; ++i) {
    const MPI_Offset offset = ((MPI_Offset)i * ranks + rank) * kRecord;
    CHECK_MPI(MPI_File_read_at(file, offset, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(record, offset, kRecord) == 0);
  }
}

static void in_child(int how) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (how == 0) exit(0);
    if (how == 1) _exit(0);
    if (how == 2) execl("/bin/sh", "sh", "-c", "exit 0", (char*)NULL);
    if (how == 3 && fork() == 0) exit(0);  // a grandchild
    if (how == 3) wait(NULL);
    exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

static void by_library(int how) {
  if (how == 0) CHECK(system("exit 0") == 0);
  if (how == 1) {
    char word[16] = "";
    FILE* pipe = popen("echo word", "r");
    CHECK(pipe != NULL && fgets(word, sizeof word, pipe) != NULL && strcmp(word, "word\n") == 0);
    CHECK(pclose(pipe) == 0);
  }
  if (how == 2) {
    pid_t child;
    int status;
    char* words[] = {"true", NULL};
    CHECK(posix_spawnp(&child, "true", NULL, NULL, words, environ) == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
}

// Checks that nothing has reached storage since the file was made.
static void check_nothing_committed(const char* path) {
  struct stat info;
  CHECK(stat(path, &info) == 0 && info.st_size == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File file, reader;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &reader));
  int records = 0;
  for (int how = 0; how < 7; ++how) {
    write_records(file, records);
    records += kRecords;
    if (how < 4)
      in_child(how);
    else
      by_library(how - 4);
    check_nothing_committed(argv[1]);
    check_records(how % 2 ? file : reader, records);
  }
  // A child that outlives its parent's last close and then ends in order.
  int held[2];
  CHECK(pipe(held) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(held[1]);
    if (read(held[0], &byte, 1) != 0) _exit(1);
    exit(0);
  }
  close(held[0]);
  check_nothing_committed(argv[1]);
  CHECK_MPI(MPI_File_close(&reader));
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  close(held[1]);
  int status;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
