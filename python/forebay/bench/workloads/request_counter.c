// Counts a program's requests to the file system, for the untimed counting run of `forebay bench`.
// A library for LD_PRELOAD: it forwards the C library's data calls and counts those on regular
// files below FOREBAY_COUNT_DIR. A call of the pread/pwrite family is one contiguous extent, so one
// request. Requests and other calls (open, seek, lock, sync, size) together are the system calls.
// Each process appends one JSON line to FOREBAY_COUNT_FILE when it ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE, READ, OTHER, KINDS };
enum { DESCRIPTORS = 4096 };

static atomic_llong calls[KINDS], bytes[KINDS];
static atomic_schar watched[DESCRIPTORS];  // 0: not known yet, 1: counted, -1: not counted
static char watched_dir[4096];

__attribute__((constructor)) static void start(void) {
  const char* dir = getenv("FOREBAY_COUNT_DIR");
  if (!dir || !realpath(dir, watched_dir)) watched_dir[0] = '\0';
}

__attribute__((destructor)) static void report(void) {
  const char* path = getenv("FOREBAY_COUNT_FILE");
  if (!path || calls[WRITE] + calls[READ] + calls[OTHER] == 0) return;
  char line[256];
  const int length =
      snprintf(line, sizeof line,
               "{\"write\": %lld, \"written_bytes\": %lld, \"read\": %lld, "
               "\"read_bytes\": %lld, \"syscalls\": %lld}\n",
               (long long)calls[WRITE], (long long)bytes[WRITE], (long long)calls[READ],
               (long long)bytes[READ], (long long)(calls[WRITE] + calls[READ] + calls[OTHER]));
  const int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
  if (fd < 0) return;
  if (write(fd, line, (size_t)length) != length) perror(path);
  close(fd);
}

static int is_watched(int fd) {
  if (fd < 0 || fd >= DESCRIPTORS || !watched_dir[0]) return 0;
  int known = watched[fd];
  if (known == 0) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    const size_t prefix = strlen(watched_dir);
    struct stat status;
    known = length > (ssize_t)prefix && strncmp(path, watched_dir, prefix) == 0 &&
                    path[prefix] == '/' && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)
                ? 1
                : -1;
    watched[fd] = (signed char)known;
  }
  return known == 1;
}

static void count(int kind, int fd, ssize_t moved) {
  if (!is_watched(fd)) return;
  calls[kind] += 1;
  if (moved > 0) bytes[kind] += moved;
}

// The C library's own function of this name, found once.
#define NEXT(name)               \
  static __typeof__(name)* next; \
  if (!next) next = (__typeof__(name)*)dlsym(RTLD_NEXT, #name)

// Defines `name`, which moves data, and counts it as `kind`.
#define DATA_CALL(kind, name, parameters, arguments) \
  ssize_t name parameters {                          \
    NEXT(name);                                      \
    const ssize_t moved = next arguments;            \
    count(kind, fd, moved);                          \
    return moved;                                    \
  }

DATA_CALL(WRITE, write, (int fd, const void* data, size_t size), (fd, data, size))
DATA_CALL(WRITE, pwrite, (int fd, const void* data, size_t size, off_t at), (fd, data, size, at))
DATA_CALL(WRITE, pwrite64, (int fd, const void* data, size_t size, off64_t at),
          (fd, data, size, at))
DATA_CALL(WRITE, writev, (int fd, const struct iovec* parts, int n), (fd, parts, n))
DATA_CALL(WRITE, pwritev, (int fd, const struct iovec* parts, int n, off_t at), (fd, parts, n, at))
DATA_CALL(WRITE, pwritev64, (int fd, const struct iovec* parts, int n, off64_t at),
          (fd, parts, n, at))
DATA_CALL(WRITE, pwritev2, (int fd, const struct iovec* parts, int n, off_t at, int flags),
          (fd, parts, n, at, flags))
DATA_CALL(WRITE, pwritev64v2, (int fd, const struct iovec* parts, int n, off64_t at, int flags),
          (fd, parts, n, at, flags))
DATA_CALL(READ, read, (int fd, void* data, size_t size), (fd, data, size))
DATA_CALL(READ, pread, (int fd, void* data, size_t size, off_t at), (fd, data, size, at))
DATA_CALL(READ, pread64, (int fd, void* data, size_t size, off64_t at), (fd, data, size, at))
DATA_CALL(READ, readv, (int fd, const struct iovec* parts, int n), (fd, parts, n))
DATA_CALL(READ, preadv, (int fd, const struct iovec* parts, int n, off_t at), (fd, parts, n, at))
DATA_CALL(READ, preadv64, (int fd, const struct iovec* parts, int n, off64_t at),
          (fd, parts, n, at))
DATA_CALL(READ, preadv2, (int fd, const struct iovec* parts, int n, off_t at, int flags),
          (fd, parts, n, at, flags))
DATA_CALL(READ, preadv64v2, (int fd, const struct iovec* parts, int n, off64_t at, int flags),
          (fd, parts, n, at, flags))

// Defines `name`, which moves no data.
#define CONTROL_CALL(result, name, parameters, arguments) \
  result name parameters {                                \
    NEXT(name);                                           \
    const result returned = next arguments;               \
    count(OTHER, fd, 0);                                  \
    return returned;                                      \
  }

CONTROL_CALL(int, fsync, (int fd), (fd))
CONTROL_CALL(int, fdatasync, (int fd), (fd))
CONTROL_CALL(int, ftruncate, (int fd, off_t size), (fd, size))
CONTROL_CALL(int, ftruncate64, (int fd, off64_t size), (fd, size))
CONTROL_CALL(off_t, lseek, (int fd, off_t at, int from), (fd, at, from))
CONTROL_CALL(off64_t, lseek64, (int fd, off64_t at, int from), (fd, at, from))

int close(int fd) {
  NEXT(close);
  count(OTHER, fd, 0);
  if (fd >= 0 && fd < DESCRIPTORS) watched[fd] = 0;
  return next(fd);
}

// Defines a variadic `name` with an optional last argument of one word.
#define VARIADIC_CALL(name, type, last, parameters, arguments) \
  int name parameters {                                        \
    NEXT(name);                                                \
    va_list list;                                              \
    va_start(list, last);                                      \
    const type word = va_arg(list, type);                      \
    va_end(list);                                              \
    const int returned = next arguments;                       \
    COUNTED                                                    \
    return returned;                                           \
  }

#define COUNTED count(OTHER, returned, 0);
VARIADIC_CALL(open, mode_t, flags, (const char* path, int flags, ...), (path, flags, word))
VARIADIC_CALL(open64, mode_t, flags, (const char* path, int flags, ...), (path, flags, word))
VARIADIC_CALL(openat, mode_t, flags, (int dir, const char* path, int flags, ...),
              (dir, path, flags, word))
VARIADIC_CALL(openat64, mode_t, flags, (int dir, const char* path, int flags, ...),
              (dir, path, flags, word))
#undef COUNTED
#define COUNTED count(OTHER, fd, 0);
VARIADIC_CALL(fcntl, uintptr_t, command, (int fd, int command, ...), (fd, command, word))
VARIADIC_CALL(fcntl64, uintptr_t, command, (int fd, int command, ...), (fd, command, word))
