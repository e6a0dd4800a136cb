// Preloaded: makes the storage calls of Forebay's interposers fail on request, or kill the process.
// Calls that come from anywhere else, the MPI library's own among them, are left alone.
#include "storage_faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int failing_calls, failing_error;
static int64_t until_failure, failures_left;  // failures_left 0: without end
static int64_t until_death;                   // 0: no death is due

void storage_faults_fail(int calls, int64_t nth, int64_t count, int error) {
  pthread_mutex_lock(&mutex);
  failing_calls = calls;
  failing_error = error;
  until_failure = nth;
  failures_left = count;
  pthread_mutex_unlock(&mutex);
}

void storage_faults_kill(int64_t nth) {
  pthread_mutex_lock(&mutex);
  until_death = nth;
  pthread_mutex_unlock(&mutex);
}

void storage_faults_heal(void) {
  pthread_mutex_lock(&mutex);
  failing_calls = 0;
  pthread_mutex_unlock(&mutex);
}

static int of_interposer(const void* caller) {
  Dl_info object;
  return dladdr(caller, &object) != 0 && object.dli_fname != NULL &&
         strstr(object.dli_fname, "/libforebay_") != NULL;
}

// The errno that this call is to fail with, or 0.
static int fault(enum StorageCall call, const void* caller) {
  if (!of_interposer(caller)) return 0;
  int error = 0;
  pthread_mutex_lock(&mutex);
  if (until_death > 0 && --until_death == 0) kill(getpid(), SIGKILL);
  if ((failing_calls & call) != 0 && --until_failure <= 0) {
    error = failing_error;
    if (failures_left > 0 && --failures_left == 0) failing_calls = 0;
  }
  pthread_mutex_unlock(&mutex);
  return error;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwritev(int descriptor, const struct iovec* segments, int count, off_t offset) {
  const int error = fault(kWriteCall, __builtin_return_address(0));
  if (error == 0) return REAL(pwritev)(descriptor, segments, count, offset);
  // A device that fails may have taken a part.
  if (error == EIO) REAL(pwrite)(descriptor, segments->iov_base, segments->iov_len / 2, offset);
  errno = error;
  return -1;
}

ssize_t preadv(int descriptor, const struct iovec* segments, int count, off_t offset) {
  const int error = fault(kReadCall, __builtin_return_address(0));
  if (error == 0) return REAL(preadv)(descriptor, segments, count, offset);
  errno = error;
  return -1;
}

int fsync(int descriptor) {
  const int error = fault(kFlushCall, __builtin_return_address(0));
  if (error == 0) return REAL(fsync)(descriptor);
  errno = error;
  return -1;
}
