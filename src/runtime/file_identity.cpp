#include "runtime/file_identity.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace forebay::runtime {

namespace {

constexpr int64_t second_ns = 1'000'000'000;
// A write of ours may reach the file later than it is noted: the file system's clock ticks
// coarsely, and a write that was under way when its process died may have gone on.
constexpr int64_t tick_ns = 20'000'000;
constexpr int64_t longest_write_ns = 10 * second_ns;

int64_t modified_ns(const struct stat& info) {
  return info.st_mtim.tv_sec * second_ns + info.st_mtim.tv_nsec;
}

int64_t birth_ns(const char* path) {
  struct statx info;
  if (statx(AT_FDCWD, path, 0, STATX_BTIME, &info) != 0 || (info.stx_mask & STATX_BTIME) == 0)
    return 0;
  return info.stx_btime.tv_sec * second_ns + info.stx_btime.tv_nsec;
}

}  // namespace

std::string absolute_path(const std::string& path) {
  char* const found = realpath(path.c_str(), nullptr);
  const std::string absolute = found == nullptr ? "" : found;
  std::free(found);
  return absolute;
}

void identify(FileEntry& entry, const std::string& path, const struct stat& info) {
  entry.device = info.st_dev;
  entry.inode = info.st_ino;
  entry.birth_ns = birth_ns(path.c_str());
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
         info.st_dev == entry.device && info.st_ino == entry.inode &&
         birth_ns(entry.path) == entry.birth_ns;
}

std::string change_by_others(const FileEntry& entry) {
  struct stat info;
  if (entry.path[0] == '\0') return "its path is not known";
  if (stat(entry.path, &info) != 0) return "it is gone";
  if (!still_named(entry)) return "another file has its name";
  const int64_t modified = modified_ns(info);
  const int64_t known = entry.changed.modified_ns.load();
  const int64_t latest = std::max(known, entry.changed.written_ns.load());
  const bool unfinished = entry.changed.being_written.load() != 0;
  if (modified == known || modified <= latest + (unfinished ? longest_write_ns : tick_ns))
    return "";
  return "it was changed after the job last wrote to it";
}

void note_own_change(FileEntry& entry) {
  struct stat info;
  if (entry.path[0] != '\0' && stat(entry.path, &info) == 0)
    entry.changed.modified_ns.store(modified_ns(info));
}

}  // namespace forebay::runtime
