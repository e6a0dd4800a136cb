// Preloaded beside Forebay: see inject.h. Acts on calls whose return address is in Forebay's own
// library (its interposer, or the Python package's module); the MPI library and the program are not
// affected.
//
// Armed by the program, or from the start by variables: INJECT="CALLS NTH COUNT ERROR HOW" as
// numbers, INJECT_FILE the file under test, INJECT_RANK the rank (default: any). INJECT_COUNT names
// a file that receives the number of these calls when the process ends.
#define _GNU_SOURCE
#include "inject.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

// --- Forebay's code ---

static _Atomic uintptr_t code_begin, code_end;

static int find_code(struct dl_phdr_info* object, size_t size, void* unused) {
  (void)size;
  (void)unused;
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* name = slash == NULL ? object->dlpi_name : slash + 1;
  const bool interposer = strncmp(name, "libforebay_", 11) == 0 && strstr(name, "preload") == NULL;
  const bool module = strncmp(name, "_core.", 6) == 0 && strstr(object->dlpi_name, "/forebay/");
  if (!interposer && !module) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    atomic_store(&code_end, object->dlpi_addr + part->p_vaddr + part->p_memsz);
    atomic_store(&code_begin, object->dlpi_addr + part->p_vaddr);
  }
  return 1;
}

static bool of_forebay(const void* caller) {
  const uintptr_t begin = atomic_load(&code_begin);
  return begin != 0 && (uintptr_t)caller >= begin && (uintptr_t)caller < atomic_load(&code_end);
}

// --- Which fault ---

static struct armed {
  atomic_int calls, error, how;
  atomic_long nth, count, made, met;
} fault, death;
static char armed_file[4096];  // "": any

static struct armed* armed_by(int how) { return how >= INJECT_KILL_BEFORE ? &death : &fault; }

static int armed_calls(void) { return atomic_load(&fault.calls) | atomic_load(&death.calls); }

EXPORT void inject_arm(const char* file, int calls, long nth, long count, int error, int how) {
  struct armed* const armed = armed_by(how);
  atomic_store(&armed->calls, 0);
  if (atomic_load(&code_begin) == 0) dl_iterate_phdr(find_code, NULL);
  snprintf(armed_file, sizeof armed_file, "%s", file == NULL ? "" : file);
  atomic_store(&armed->nth, nth);
  atomic_store(&armed->count, count);
  atomic_store(&armed->error, error);
  atomic_store(&armed->how, how);
  atomic_store(&armed->made, 0);
  atomic_store(&armed->met, 0);
  atomic_store(&armed->calls, calls);
}

EXPORT long inject_disarm(void) {
  atomic_store(&fault.calls, 0);
  return atomic_load(&fault.met);
}

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) syscall(SYS_pause);
}

enum verdict { PROCEED, FAIL, HALF_AND_FAIL, HALF, HALF_AND_DIE, DIE_AFTER };

// Counts a call of this kind (0: none). Returns whether the armed fault applies to it.
static bool meets(struct armed* armed, int call) {
  if ((atomic_load(&armed->calls) & call) == 0) return false;
  const long number = atomic_fetch_add(&armed->made, 1) + 1;
  const long nth = atomic_load(&armed->nth), count = atomic_load(&armed->count);
  if (number < nth || (count > 0 && number >= nth + count)) return false;
  atomic_fetch_add(&armed->met, 1);
  return true;
}

// What happens to a call of this kind.
static enum verdict judge(int call, bool transfers) {
  if (meets(&death, call)) {
    const int how = atomic_load(&death.how);
    if (how == INJECT_KILL_AFTER) return DIE_AFTER;
    if (how == INJECT_KILL_HALF && transfers) return HALF_AND_DIE;
    die();
  }
  if (!meets(&fault, call)) return PROCEED;
  const int how = atomic_load(&fault.how);
  if (how == INJECT_HALF) return transfers ? HALF : PROCEED;
  errno = atomic_load(&fault.error);
  return how == INJECT_FAIL_HALF && transfers ? HALF_AND_FAIL : FAIL;
}

// --- Which calls ---

static bool watching(const void* caller) {
  if (armed_calls() == 0) return false;
  if (atomic_load(&code_begin) == 0) dl_iterate_phdr(find_code, NULL);
  return of_forebay(caller);
}

static bool in_shared_memory(const char* path) { return strstr(path, "/forebay-") != NULL; }

// The kind of a call on the file with this path, which is `storage` for storage; 0: neither a file
// under test nor shared memory.
static int kind_of_path(const char* path, int storage) {
  if (strcmp(path, armed_file) == 0) return storage;
  if (in_shared_memory(path)) return INJECT_SEGMENT;
  return armed_file[0] == '\0' ? storage : 0;
}

static int kind_of(int descriptor, int storage) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  return kind_of_path(path, storage);
}

// A call without partial effects. `kind` is evaluated for Forebay's calls only.
#define SIMPLE_CALL(kind, make)                                                   \
  do {                                                                            \
    const int saved = errno;                                                      \
    const enum verdict verdict = watching(CALLER) ? judge(kind, false) : PROCEED; \
    if (verdict == FAIL) return -1;                                               \
    errno = saved;                                                                \
    const long result = make;                                                     \
    if (verdict == DIE_AFTER) die();                                              \
    return (int)result;                                                           \
  } while (0)

// --- Transfers ---

enum { MOST_SEGMENTS = 1024 };

static ssize_t transfer(const void* caller, int kind, long number, int descriptor,
                        const struct iovec* segments, int count, off_t offset) {
  const int saved = errno;
  const enum verdict verdict = watching(caller) ? judge(kind_of(descriptor, kind), true) : PROCEED;
  if (verdict == FAIL) return -1;
  errno = saved;
  struct iovec cut[MOST_SEGMENTS];
  const bool half = verdict == HALF || verdict == HALF_AND_FAIL || verdict == HALF_AND_DIE;
  if (half && count <= MOST_SEGMENTS) {
    size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += segments[i].iov_len;
    size_t left = bytes > 1 ? bytes / 2 : bytes;
    int kept = 0;
    for (; kept < count && left > 0; ++kept) {
      cut[kept] = segments[kept];
      if (cut[kept].iov_len > left) cut[kept].iov_len = left;
      left -= cut[kept].iov_len;
    }
    segments = cut;
    count = kept;
  }
  const ssize_t moved = syscall(number, descriptor, segments, count, offset, 0);
  if (verdict == HALF_AND_DIE || verdict == DIE_AFTER) die();
  if (verdict != HALF_AND_FAIL) return moved;
  errno = atomic_load(&fault.error);
  return -1;
}

#define TRANSFERS(kind, vector_name, name, vector_number, constness)                            \
  EXPORT ssize_t vector_name(int fd, const struct iovec* segments, int count, off_t offset) {   \
    return transfer(CALLER, kind, vector_number, fd, segments, count, offset);                  \
  }                                                                                             \
  EXPORT ssize_t vector_name##64(int fd, const struct iovec* segments, int count, off_t offset) \
      __attribute__((alias(#vector_name)));                                                     \
  EXPORT ssize_t name(int fd, constness void* memory, size_t length, off_t offset) {            \
    const struct iovec segment = {(void*)memory, length};                                       \
    return transfer(CALLER, kind, vector_number, fd, &segment, 1, offset);                      \
  }                                                                                             \
  EXPORT ssize_t name##64(int fd, constness void* memory, size_t length, off_t offset)          \
      __attribute__((alias(#name)));

TRANSFERS(INJECT_WRITE, pwritev, pwrite, SYS_pwritev, const)
TRANSFERS(INJECT_READ, preadv, pread, SYS_preadv, )

// --- Other calls on the file and on shared memory ---

EXPORT int fsync(int fd) { SIMPLE_CALL(kind_of(fd, INJECT_FSYNC), syscall(SYS_fsync, fd)); }

EXPORT int fdatasync(int fd) { SIMPLE_CALL(kind_of(fd, INJECT_FSYNC), syscall(SYS_fdatasync, fd)); }

EXPORT int fstat(int fd, struct stat* info) {
  SIMPLE_CALL(kind_of(fd, INJECT_SIZE), syscall(SYS_newfstatat, fd, "", info, AT_EMPTY_PATH));
}

EXPORT int stat(const char* path, struct stat* info) {
  SIMPLE_CALL(kind_of_path(path, INJECT_SIZE), syscall(SYS_newfstatat, AT_FDCWD, path, info, 0));
}

EXPORT int lstat(const char* path, struct stat* info) {
  SIMPLE_CALL(kind_of_path(path, INJECT_SIZE),
              syscall(SYS_newfstatat, AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW));
}

EXPORT int statx(int folder, const char* path, int flags, unsigned mask, struct statx* info) {
  SIMPLE_CALL(kind_of_path(path, INJECT_SIZE), syscall(SYS_statx, folder, path, flags, mask, info));
}

EXPORT int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  SIMPLE_CALL(kind_of_path(path, INJECT_OPEN), syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
EXPORT int open64(const char* path, int flags, ...) __attribute__((alias("open")));

EXPORT int close(int fd) {
  const int saved = errno;
  const int kind = watching(CALLER) ? kind_of(fd, INJECT_CLOSE) & INJECT_CLOSE : 0;
  const enum verdict verdict = judge(kind, false);
  const int error = errno;
  errno = saved;
  const long result = syscall(SYS_close, fd);
  if (verdict == DIE_AFTER) die();
  if (verdict != FAIL) return (int)result;
  errno = error;
  return -1;
}

EXPORT int ftruncate(int fd, off_t length) {
  SIMPLE_CALL(kind_of(fd, 0), syscall(SYS_ftruncate, fd, length));
}
EXPORT int ftruncate64(int fd, off_t length) __attribute__((alias("ftruncate")));

EXPORT int fallocate(int fd, int mode, off_t offset, off_t length) {
  SIMPLE_CALL(kind_of(fd, 0), syscall(SYS_fallocate, fd, mode, offset, length));
}
EXPORT int fallocate64(int fd, int mode, off_t offset, off_t length)
    __attribute__((alias("fallocate")));

EXPORT int flock(int fd, int operation) {
  SIMPLE_CALL(kind_of(fd, 0), syscall(SYS_flock, fd, operation));
}

EXPORT int mkdir(const char* path, mode_t mode) {
  SIMPLE_CALL(kind_of_path(path, 0), syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

EXPORT int madvise(void* address, size_t length, int advice) {
  SIMPLE_CALL(INJECT_SEGMENT, syscall(SYS_madvise, address, length, advice));
}

EXPORT void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  const int saved = errno;
  if (watching(CALLER) && judge(kind_of(fd, 0), false) == FAIL) return MAP_FAILED;
  errno = saved;
  return (void*)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}
EXPORT void* mmap64(void* address, size_t length, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

// --- Memory ---

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* memory, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);

static bool refused(const void* caller) {
  if ((armed_calls() & INJECT_ALLOCATION) == 0 || !of_forebay(caller)) return false;
  const int saved = errno;
  if (judge(INJECT_ALLOCATION, false) == FAIL) return true;
  errno = saved;
  return false;
}

EXPORT void* malloc(size_t size) { return refused(CALLER) ? NULL : __libc_malloc(size); }

EXPORT void* calloc(size_t count, size_t size) {
  return refused(CALLER) ? NULL : __libc_calloc(count, size);
}

EXPORT void* realloc(void* memory, size_t size) {
  return refused(CALLER) ? NULL : __libc_realloc(memory, size);
}

EXPORT void* aligned_alloc(size_t alignment, size_t size) {
  return refused(CALLER) ? NULL : __libc_memalign(alignment, size);
}

EXPORT int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (refused(CALLER)) return ENOMEM;
  void* const found = __libc_memalign(alignment, size);
  if (found == NULL) return ENOMEM;
  *memory = found;
  return 0;
}

// --- Armed by variables ---

static struct armed* from_outside;

__attribute__((constructor)) static void arm_as_told(void) {
  const char* const told = getenv("INJECT");
  const char* const file = getenv("INJECT_FILE");
  const char* const rank = getenv("INJECT_RANK");
  if (told == NULL || file == NULL) return;
  if (rank != NULL) {
    const char* mine = getenv("PMI_RANK");
    if (mine == NULL) mine = getenv("OMPI_COMM_WORLD_RANK");
    if (mine == NULL || strcmp(mine, rank) != 0) return;
  }
  int calls, error, how;
  long nth, count;
  if (sscanf(told, "%d %ld %ld %d %d", &calls, &nth, &count, &error, &how) != 5) return;
  inject_arm(file, calls, nth, count, error, how);
  from_outside = armed_by(how);
}

__attribute__((destructor)) static void tell_count(void) {
  const char* const path = getenv("INJECT_COUNT");
  if (path == NULL || from_outside == NULL) return;
  FILE* const out = fopen(path, "w");
  if (out == NULL) return;
  fprintf(out, "%ld\n", atomic_load(&from_outside->made));
  fclose(out);
}
