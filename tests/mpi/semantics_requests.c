// Requests of nonblocking routines (MPI 4.1, section 14.4.1): every way to wait for, test, free and
// inspect them, mixed with messages, and in crossed orders on two files.
//
// plain fails with: mpich-debian
#include "check.h"

enum { kBytes = 300, kCount = 6 };

static int rank, size;

static int64_t count_of(MPI_Status* status) {
  MPI_Count count = -1;
  MPI_Get_elements_x(status, MPI_BYTE, &count);
  return count;
}

static void with_messages(MPI_File file) {
  unsigned char memory[kCount][kBytes], got = 0, sent = (unsigned char)rank;
  MPI_Request requests[kCount + 2];
  MPI_Status statuses[kCount + 2];
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int i = 0; i < kCount; ++i) {
    const MPI_Offset at = ((MPI_Offset)i * size + rank) * kBytes;
    fill_bytes(memory[i], at, kBytes);
    CHECK_MPI(MPI_File_iwrite_at(file, at, memory[i], kBytes - i, MPI_BYTE, &requests[i]));
  }
  MPI_Irecv(&got, 1, MPI_BYTE, previous, 0, MPI_COMM_WORLD, &requests[kCount]);
  MPI_Isend(&sent, 1, MPI_BYTE, next, 0, MPI_COMM_WORLD, &requests[kCount + 1]);
  CHECK_MPI(MPI_Waitall(kCount + 2, requests, statuses));
  for (int i = 0; i < kCount; ++i) {
    CHECK(requests[i] == MPI_REQUEST_NULL);
    CHECK(count_of(&statuses[i]) == kBytes - i);
  }
  CHECK(got == previous);
}

static void in_every_way(MPI_File file) {
  unsigned char memory[kCount][kBytes];
  MPI_Request requests[kCount];
  MPI_Status status;
  int flag = 0, index = -1;
  for (int i = 0; i < kCount; ++i)
    CHECK_MPI(MPI_File_iread_at(file, ((MPI_Offset)i * size + rank) * kBytes, memory[i],
                                kBytes - kCount, MPI_BYTE, &requests[i]));
  while (!flag) CHECK_MPI(MPI_Request_get_status(requests[0], &flag, &status));
  CHECK(count_of(&status) == kBytes - kCount && requests[0] != MPI_REQUEST_NULL);
  CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  for (flag = 0; !flag;) CHECK_MPI(MPI_Test(&requests[1], &flag, &status));
  CHECK(count_of(&status) == kBytes - kCount);
  CHECK_MPI(MPI_Waitany(1, &requests[2], &index, &status));
  CHECK(index == 0 && count_of(&status) == kBytes - kCount);
  int done = 0, indices[kCount];
  for (int left = kCount - 3; left > 0; left -= done)
    CHECK_MPI(MPI_Waitsome(kCount - 3, requests + 3, &done, indices, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kCount; ++i)
    CHECK(wrong_bytes(memory[i], ((MPI_Offset)i * size + rank) * kBytes, kBytes - kCount) == 0);
}

static void given_up(MPI_File file) {
  unsigned char memory[kBytes];
  MPI_Request request;
  MPI_Status status;
  const MPI_Offset at = 100000 + (MPI_Offset)rank * kBytes;
  fill_bytes(memory, at, kBytes);
  CHECK_MPI(MPI_File_iwrite_at(file, at, memory, kBytes, MPI_BYTE, &request));
  CHECK_MPI(MPI_Wait(&request, &status));
  // An access of no bytes has a request, too.
  CHECK_MPI(MPI_File_iwrite_at(file, at, memory, 0, MPI_BYTE, &request));
  CHECK_MPI(MPI_Wait(&request, &status));
  CHECK(count_of(&status) == 0);
  CHECK_MPI(MPI_File_iwrite_at(file, at + 100000, memory, 1, MPI_BYTE, &request));
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// Ranks start and wait in opposite orders. No rank may have to wait for another one.
static void crossed(MPI_File one, MPI_File two) {
  unsigned char memory[2][kBytes];
  MPI_Request requests[2];
  const MPI_Offset at = (MPI_Offset)rank * kBytes;
  MPI_File files[2] = {one, two};
  for (int i = 0; i < 2; ++i) fill_bytes(memory[i], at + i, kBytes);
  for (int i = 0; i < 2; ++i) {
    const int f = (i + rank) % 2;
    CHECK_MPI(MPI_File_iwrite_at(files[f], at, memory[f], kBytes, MPI_BYTE, &requests[f]));
  }
  for (int i = 0; i < 2; ++i) CHECK_MPI(MPI_Wait(&requests[(i + rank + 1) % 2], MPI_STATUS_IGNORE));
  for (int i = 0; i < 2; ++i)
    CHECK_MPI(MPI_File_iwrite_at_all(files[i], at, memory[i], kBytes, MPI_BYTE, &requests[i]));
  for (int i = 0; i < 2; ++i) CHECK_MPI(MPI_Wait(&requests[(i + rank + 1) % 2], MPI_STATUS_IGNORE));
  for (int i = 0; i < 2; ++i) {
    CHECK_MPI(MPI_File_read_at(files[i], at, memory[i], kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory[i], at + i, kBytes) == 0);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  MPI_File files[2];
  for (int i = 0; i < 2; ++i) {
    snprintf(path, sizeof path, "%s/requests%d", argv[1], i);
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                            &files[i]));
  }
  with_messages(files[0]);
  in_every_way(files[0]);
  given_up(files[0]);
  crossed(files[0], files[1]);
  for (int i = 0; i < 2; ++i) CHECK_MPI(MPI_File_close(&files[i]));
  MPI_Finalize();
  return 0;
}
