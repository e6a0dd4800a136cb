// Preloaded: Forebay takes every file system for NFS.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

int statfs(const char* path, struct statfs* info) {
  static int (*real)(const char*, struct statfs*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "statfs");
  const int result = real(path, info);
  Dl_info caller;
  if (dladdr(__builtin_return_address(0), &caller) != 0 &&
      strstr(caller.dli_fname, "libforebay_") != NULL)
    info->f_type = NFS_SUPER_MAGIC;
  return result;
}
