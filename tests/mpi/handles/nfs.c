// Preloaded: Forebay takes every file system for NFS.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

static int asked_by_forebay(void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && strstr(info.dli_fname, "libforebay_") != NULL;
}

int statfs(const char* path, struct statfs* info) {
  static int (*real)(const char*, struct statfs*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "statfs");
  const int result = real(path, info);
  if (asked_by_forebay(__builtin_return_address(0))) info->f_type = NFS_SUPER_MAGIC;
  return result;
}

int fstatfs(int descriptor, struct statfs* info) {
  static int (*real)(int, struct statfs*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "fstatfs");
  const int result = real(descriptor, info);
  if (asked_by_forebay(__builtin_return_address(0))) info->f_type = NFS_SUPER_MAGIC;
  return result;
}
