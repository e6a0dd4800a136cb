#include "runtime/file_identity.h"

#include <fcntl.h>

#include <cstdlib>
#include <cstring>

#include "runtime/clock.h"

namespace forebay::runtime {

namespace {

int64_t birth_ns(const char* path) {
  struct statx info;
  if (statx(AT_FDCWD, path, 0, STATX_BTIME, &info) != 0 || (info.stx_mask & STATX_BTIME) == 0)
    return 0;
  return info.stx_btime.tv_sec * second_ns + info.stx_btime.tv_nsec;
}

}  // namespace

int64_t modified_ns(const struct stat& info) {
  return info.st_mtim.tv_sec * second_ns + info.st_mtim.tv_nsec;
}

std::string absolute_path(const std::string& path) {
  char* const found = realpath(path.c_str(), nullptr);
  const std::string absolute = found == nullptr ? "" : found;
  std::free(found);
  return absolute;
}

void identify(FileEntry& entry, const std::string& path, const struct stat& info) {
  entry.identity = {info.st_dev, info.st_ino, birth_ns(path.c_str())};
  entry.changed.modified_ns.store(modified_ns(info));
  entry.changed.written_ns.store(0);
  entry.changed.being_written.store(0);
  // A relative path would mean another file to whoever commits from elsewhere.
  const std::string absolute = absolute_path(path);
  entry.path[0] = '\0';
  if (absolute.size() < sizeof(entry.path)) std::strcpy(entry.path, absolute.c_str());
}

bool still_named(const FileEntry& entry) {
  struct stat info;
  return entry.path[0] != '\0' && stat(entry.path, &info) == 0 && S_ISREG(info.st_mode) &&
         FileIdentity{info.st_dev, info.st_ino, birth_ns(entry.path)} == entry.identity;
}

}  // namespace forebay::runtime
