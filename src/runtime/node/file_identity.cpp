#include "runtime/node/file_identity.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <cstring>

#include "runtime/node/clock.h"

namespace forebay::runtime {

namespace {

int64_t ns_of(const struct statx_timestamp& time) { return time.tv_sec * second_ns + time.tv_nsec; }

// False: there is no such file.
bool ask(const char* path, struct statx* info) {
  return statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, info) == 0;
}

FileIdentity identity_of(const struct statx& info) {
  return {makedev(info.stx_dev_major, info.stx_dev_minor), info.stx_ino,
          (info.stx_mask & STATX_BTIME) != 0 ? ns_of(info.stx_btime) : 0};
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

Status find_file(const std::string& path, FoundFile* found) {
  struct statx info;
  if (!ask(path.c_str(), &info) || !S_ISREG(info.stx_mode)) return {Code::unsupported, 0, -1};
  *found = {identity_of(info), ns_of(info.stx_mtime), runtime::absolute_path(path)};
  return {};
}

void identify(FileEntry& entry, const FoundFile& found) {
  entry.identity = found.identity;
  entry.changed.modified_ns.store(found.modified_ns);
  entry.changed.written_ns.store(0);
  entry.changed.being_written.store(0);
  // A relative path would name another file in a process with another working directory.
  entry.path[0] = '\0';
  if (found.absolute_path.size() < sizeof(entry.path))
    std::strcpy(entry.path, found.absolute_path.c_str());
}

bool still_named(const FileEntry& entry) {
  struct statx info;
  return entry.path[0] != '\0' && ask(entry.path, &info) && S_ISREG(info.stx_mode) &&
         identity_of(info) == entry.identity;
}

}  // namespace forebay::runtime
