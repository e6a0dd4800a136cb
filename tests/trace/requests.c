// Completes requests in every way, mixed with messages, and says what a trace must hold of each
// access: a line "ASKED MOVED HOW" with HOW "known", "at-once" (complete before the thread's next
// call), "given-up" or "in-error" (only what was asked for is certain). Arguments: FILE [MODE].
// Each rank writes its lines to FILE.expected.RANK.
// NO_TESTALL: without MPI_Testall, in which MPICH at times reports errors that there are not.
// STATUS_OF_MANY: the library has MPI_Request_get_status_any, _some and _all.
// SHORT_READS: requests that read beyond the end of the file end, which under Open MPI they do not.
// Modes: "threads" lets four threads begin and wait 1000 times each; "status" only asks for the
// status of several; "killed" dies with requests under way; "routine" only prints the libraries
// that lookups of MPI_Wait and MPI_Request_get_status_any lead to, "none" for none, and
// "collective" those of MPI_Barrier and MPI_Comm_split.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { FILLED = 1 << 16, RECORD = 100, FILES = 6, ALL = FILES + 2, THREADS = 4, ROUNDS = 1000 };

#ifdef NO_TESTALL
enum { WITHOUT_TESTALL = 1 };
#else
enum { WITHOUT_TESTALL = 0 };
#endif

static FILE* expected;
static MPI_File file;
static int rank, ranks;
static unsigned char memory[ALL][RECORD];
static MPI_Request requests[ALL];
static MPI_Status statuses[ALL];
static int messages;

static int64_t count_of(MPI_Status* status) {
  MPI_Count count = -1;
  MPI_Get_elements_x(status, MPI_BYTE, &count);
  return count;
}

static void expect(int asked, int moved, const char* how) {
  fprintf(expected, "%d %d %s\n", asked, moved, how);
}

static MPI_Offset place(int i) { return ((MPI_Offset)i * ranks + rank) * RECORD; }

static void begin_accesses(void) {
  // MPICH's MPI_Testall takes an earlier error in them for its own.
  memset(statuses, 0, sizeof statuses);
  for (int i = 1; i <= FILES; ++i) {
    fill_bytes(memory[i], place(i), RECORD);
    if (i % 2 == 0)
      CHECK_MPI(MPI_File_iread_at(file, place(i), memory[i], RECORD - i, MPI_BYTE, &requests[i]));
    else
      CHECK_MPI(MPI_File_iwrite_at(file, place(i), memory[i], RECORD - i, MPI_BYTE, &requests[i]));
  }
}

static void expect_accesses(const char* how) {
  for (int i = 1; i <= FILES; ++i) expect(RECORD - i, RECORD - i, how);
}

// Begins requests for a message from the neighbour, for FILES accesses, and for a message to the
// neighbour.
static void begin(void) {
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  CHECK_MPI(MPI_Irecv(memory[0], 1, MPI_BYTE, previous, 0, MPI_COMM_WORLD, &requests[0]));
  begin_accesses();
  expect_accesses("known");
  memory[ALL - 1][0] = (unsigned char)++messages;
  CHECK_MPI(MPI_Isend(memory[ALL - 1], 1, MPI_BYTE, next, 0, MPI_COMM_WORLD, &requests[ALL - 1]));
}

static void check_count(MPI_Status* status, int i) {
  CHECK(i == ALL - 1 || count_of(status) == (i == 0 ? 1 : RECORD - i));
}

static void ended(void) {
  for (int i = 0; i < ALL; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  CHECK(memory[0][0] == messages);
  for (int i = 1; i <= FILES; ++i) CHECK(wrong_bytes(memory[i], place(i), RECORD) == 0);
}

static void any(int wait, int ignore) {
  begin();
  for (int done = 0; done < ALL;) {
    int index = MPI_UNDEFINED, flag = 1;
    MPI_Status* const status = ignore ? MPI_STATUS_IGNORE : &statuses[0];
    CHECK_MPI(wait ? MPI_Waitany(ALL, requests, &index, status)
                   : MPI_Testany(ALL, requests, &index, &flag, status));
    if (!flag) continue;
    CHECK(index >= 0 && index < ALL && requests[index] == MPI_REQUEST_NULL);
    if (!ignore) check_count(status, index);
    ++done;
  }
  ended();
}

static void some(int wait, int ignore) {
  begin();
  for (int done = 0, completed; done < ALL; done += completed) {
    int indices[ALL];
    MPI_Status* const told = ignore ? MPI_STATUSES_IGNORE : statuses;
    CHECK_MPI(wait ? MPI_Waitsome(ALL, requests, &completed, indices, told)
                   : MPI_Testsome(ALL, requests, &completed, indices, told));
    CHECK(completed >= 0);
    for (int i = 0; i < completed && !ignore; ++i) check_count(&statuses[i], indices[i]);
  }
  ended();
}

static void all(int wait, int ignore) {
  begin();
  MPI_Status* const told = ignore ? MPI_STATUSES_IGNORE : statuses;
  // MPICH's MPI_Testall reports wrong errors if there are messages among the requests.
  if (!wait) {
    CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Wait(&requests[ALL - 1], MPI_STATUS_IGNORE));
  }
  for (int flag = 0; !flag;) {
    if (wait) flag = 1;
    CHECK_MPI(wait ? MPI_Waitall(ALL, requests, told) : MPI_Testall(ALL, requests, &flag, told));
  }
  for (int i = wait ? 0 : 1; i < ALL && !ignore; ++i) check_count(&statuses[i], i);
  ended();
}

#ifdef STATUS_OF_MANY

enum { TRIES = 200 };

// Frees a request that was reported complete, so that nothing else can report its access.
static void told(int i, MPI_Status* status) {
  CHECK(i >= 1 && i <= FILES && requests[i] != MPI_REQUEST_NULL);
  if (status != MPI_STATUS_IGNORE) check_count(status, i);
  CHECK_MPI(MPI_Request_free(&requests[i]));
}

static int status_of_any(int ignore) {
  for (int done = 0; done < FILES;) {
    int index = MPI_UNDEFINED, flag = 0;
    MPI_Status* const status = ignore ? MPI_STATUS_IGNORE : &statuses[0];
    const int code = MPI_Request_get_status_any(FILES, &requests[1], &index, &flag, status);
    if (code != MPI_SUCCESS) return code;
    if (!flag) continue;
    told(1 + index, status);
    ++done;
  }
  return MPI_SUCCESS;
}

static int status_of_some(int ignore) {
  for (int done = 0, count; done < FILES; done += count) {
    int indices[FILES];
    MPI_Status* const status = ignore ? MPI_STATUSES_IGNORE : statuses;
    const int code = MPI_Request_get_status_some(FILES, &requests[1], &count, indices, status);
    if (code != MPI_SUCCESS) return code;
    for (int i = 0; i < count; ++i) told(1 + indices[i], ignore ? MPI_STATUS_IGNORE : &statuses[i]);
  }
  return MPI_SUCCESS;
}

static int status_of_all(int ignore) {
  MPI_Status* const status = ignore ? MPI_STATUSES_IGNORE : statuses;
  for (int flag = 0; !flag;) {
    const int code = MPI_Request_get_status_all(FILES, &requests[1], &flag, status);
    if (code != MPI_SUCCESS) return code;
  }
  for (int i = 1; i <= FILES; ++i) told(i, ignore ? MPI_STATUS_IGNORE : &statuses[i - 1]);
  return MPI_SUCCESS;
}

// MPICH's _some and _all sometimes report wrong errors, and may then never return from waiting for
// these requests. So these are freed, and others are tried.
static void status_of_many(void) {
  int (*const ways[])(int) = {status_of_any, status_of_some, status_of_all};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int way = 0; way < 3; ++way) {
    for (int ignore = 0; ignore < 2; ++ignore) {
      for (int tries = 0, code = MPI_ERR_OTHER; code != MPI_SUCCESS; ++tries) {
        CHECK(tries < TRIES);
        begin_accesses();
        code = ways[way](ignore);
        for (int i = 1; i <= FILES; ++i) {
          if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]);
        }
        expect_accesses(code == MPI_SUCCESS ? "known" : "in-error");
      }
    }
  }
}

#else

static void status_of_many(void) {}

#endif

static void one_by_one(void) {
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
#ifdef SHORT_READS
  CHECK_MPI(MPI_File_iread_at(file, FILLED - 30, memory[0], RECORD, MPI_BYTE, &request));
  CHECK_MPI(MPI_Wait(&request, &status));
  CHECK(request == MPI_REQUEST_NULL && count_of(&status) == 30);
  expect(RECORD, 30, "at-once");
  CHECK_MPI(MPI_File_iread_at(file, FILLED - 20, memory[0], RECORD, MPI_BYTE, &request));
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  expect(RECORD, 20, "at-once");
#endif
  CHECK_MPI(MPI_File_iread_at(file, 0, memory[0], 10, MPI_BYTE, &request));
  while (!flag) CHECK_MPI(MPI_Test(&request, &flag, &status));
  CHECK(request == MPI_REQUEST_NULL && count_of(&status) == 10);
  expect(10, 10, "at-once");
  CHECK_MPI(MPI_File_iread_at(file, 0, memory[0], 11, MPI_BYTE, &request));
  for (flag = 0; !flag;) CHECK_MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  expect(11, 11, "at-once");
  CHECK_MPI(MPI_File_iread_at(file, 0, memory[0], 12, MPI_BYTE, &request));
  for (flag = 0; !flag;) CHECK_MPI(MPI_Request_get_status(request, &flag, &status));
  CHECK(request != MPI_REQUEST_NULL && count_of(&status) == 12);
  expect(12, 12, "at-once");
  MPI_Request another;
  CHECK_MPI(MPI_File_iread_at(file, 0, memory[0], 13, MPI_BYTE, &another));
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Wait(&another, &status));
  CHECK(count_of(&status) == 13);
  expect(13, 13, "at-once");
  CHECK_MPI(MPI_File_iwrite_at_all(file, place(0), memory[0], 15, MPI_BYTE, &request));
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  expect(15, 15, "at-once");
  // The last access: Open MPI may keep the bytes of a freed request locked.
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_iread_at(file, 0, memory[0], 14, MPI_BYTE, &request));
  CHECK_MPI(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  expect(14, 14, "given-up");
}

static void* begin_and_wait(void* number) {
  unsigned char bytes[RECORD];
  const int thread = *(const int*)number;
  for (int i = 0; i < ROUNDS; ++i) {
    MPI_Request request;
    const int size = 1 + (i * THREADS + thread) % RECORD;
    CHECK_MPI(MPI_File_iread_at(file, i, bytes, size, MPI_BYTE, &request));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  return NULL;
}

static void in_threads(void) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  for (int t = 0; t < THREADS; ++t) {
    numbers[t] = t;
    CHECK(pthread_create(&threads[t], NULL, begin_and_wait, &numbers[t]) == 0);
  }
  for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
}

// Begins ten accesses and waits for five. The close of another file writes that to the trace.
static void die(const char* name) {
  MPI_File other;
  CHECK_MPI(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &other));
  for (int i = 0; i < 10; ++i) {
    MPI_Request request;
    CHECK_MPI(MPI_File_iread_at(file, i, memory[0], 1, MPI_BYTE, &request));
    if (i < 5) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  CHECK_MPI(MPI_File_close(&other));
  sleep(1);
  raise(SIGKILL);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(argc == 2 || argc == 3);
  const char* const mode = argc == 3 ? argv[2] : "";
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(mode, "routine") == 0 || strcmp(mode, "collective") == 0) {
    const char* const names[] = {"MPI_Wait", "MPI_Request_get_status_any", "MPI_Barrier",
                                 "MPI_Comm_split"};
    const int first = strcmp(mode, "collective") == 0 ? 2 : 0;
    for (int i = first; i < first + 2; ++i) {
      Dl_info found;
      void* const routine = dlsym(RTLD_DEFAULT, names[i]);
      CHECK(routine == NULL || dladdr(routine, &found) != 0);
      puts(routine != NULL ? found.dli_fname : "none");
    }
    MPI_Finalize();
    return 0;
  }
  char name[4096];
  snprintf(name, sizeof name, "%s.expected.%d", argv[1], rank);
  expected = fopen(name, "w");
  CHECK(expected != NULL);
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  if (rank == 0) {
    unsigned char* const bytes = malloc(FILLED);
    fill_bytes(bytes, 0, FILLED);
    CHECK_MPI(MPI_File_write_at(file, 0, bytes, FILLED, MPI_BYTE, MPI_STATUS_IGNORE));
    expect(FILLED, FILLED, "known");
    free(bytes);
  }
  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(mode, "killed") == 0) die(argv[1]);
  if (strcmp(mode, "threads") == 0) {
    CHECK(provided == MPI_THREAD_MULTIPLE);
    in_threads();
  } else if (strcmp(mode, "status") == 0) {
    status_of_many();
  } else {
    for (int ignore = 0; ignore < 2; ++ignore) {
      for (int wait = 0; wait < 2; ++wait) {
        any(wait, ignore);
        some(wait, ignore);
        all(wait || WITHOUT_TESTALL, ignore);
      }
    }
    one_by_one();
  }
  CHECK_MPI(MPI_File_close(&file));
  fclose(expected);
  MPI_Finalize();
  return 0;
}
