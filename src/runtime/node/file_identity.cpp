#include "runtime/node/file_identity.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/node/clock.h"

namespace forebay::runtime {

namespace {

int64_t ns_of(const struct statx_timestamp& time) { return time.tv_sec * second_ns + time.tv_nsec; }

// False: there is no such file. `flags`: how much a network file system may answer from memory.
bool ask(const char* path, struct statx* info, int flags = AT_STATX_SYNC_AS_STAT) {
  return statx(AT_FDCWD, path, flags, STATX_BASIC_STATS | STATX_BTIME, info) == 0;
}

FileStamp stamp_of(const struct statx& info) {
  return {static_cast<int64_t>(info.stx_size), ns_of(info.stx_mtime), ns_of(info.stx_ctime)};
}

FileIdentity identity_of(const struct statx& info) {
  return {makedev(info.stx_dev_major, info.stx_dev_minor), info.stx_ino,
          (info.stx_mask & STATX_BTIME) != 0 ? ns_of(info.stx_btime) : 0};
}

bool leads_to(const char* path, const FileIdentity& identity) {
  struct statx info;
  return path[0] != '\0' && ask(path, &info) && S_ISREG(info.stx_mode) &&
         identity_of(info) == identity;
}

// The path of a descriptor by which the process has this file open; "": it has not.
std::string descriptor_of(pid_t pid, const FileIdentity& identity) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd/";
  const std::unique_ptr<DIR, int (*)(DIR*)> descriptors(opendir(folder.c_str()), closedir);
  if (descriptors == nullptr) return "";
  while (const dirent* const entry = readdir(descriptors.get()))
    if (std::string path = folder + entry->d_name; leads_to(path.c_str(), identity)) return path;
  return "";
}

// A file's path as it was given, and what it became.
struct ResolvedPath {
  std::string given;
  FileIdentity identity;
  std::string absolute;
};

// absolute_path() of a file's path. To ask the system for each folder on the way costs as much as
// to open the file, so the latest answers are kept while they still lead to the file.
std::string resolve(const std::string& path, const FileIdentity& identity) {
  thread_local std::array<ResolvedPath, 8> latest;
  ResolvedPath& known = latest[identity.inode % latest.size()];
  const bool same = known.given == path && known.identity == identity &&
                    (known.absolute == path || leads_to(known.absolute.c_str(), identity));
  if (!same) known = {path, identity, absolute_path(path)};
  return known.absolute;
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
  const FileIdentity identity = identity_of(info);
  *found = {identity, stamp_of(info), resolve(path, identity)};
  return {};
}

bool ask_stamp(const std::string& path, FoundFile* found) {
  struct statx info;
  if (!ask(path.c_str(), &info, AT_STATX_FORCE_SYNC) || identity_of(info) != found->identity)
    return false;
  found->stamp = stamp_of(info);
  return true;
}

void identify(FileEntry& entry, const FoundFile& found) {
  entry.identity = found.identity;
  entry.changed.modified_ns.store(found.stamp.modified_ns);
  entry.changed.written_ns.store(0);
  entry.changed.being_written.store(0);
  // A relative path would name another file in a process with another working directory.
  entry.path[0] = '\0';
  if (found.absolute_path.size() < sizeof(entry.path))
    std::strcpy(entry.path, found.absolute_path.c_str());
}

bool still_named(const FileEntry& entry) { return leads_to(entry.path, entry.identity); }

std::string path_of_descriptor(Registry& registry, const std::string& path, uint64_t inode) {
  struct Opener {
    FileIdentity identity;
    ProcessId process;
  };
  struct statx folder;
  const bool has_folder = ask(path.substr(0, path.rfind('/') + 1).c_str(), &folder);
  std::vector<Opener> openers;
  {
    const RegistryLock lock(registry);
    for (const Seat& seat : registry.made_seats()) {
      const uint32_t slot = seat.file.load();
      if (slot == no_entry) continue;
      const FileEntry& file = registry.files[slot];
      // The file may have another name here, but not on another file system.
      const bool same_device = has_folder && file.identity.device == identity_of(folder).device;
      if (file.identity.inode == inode && (path == file.path || same_device))
        openers.push_back({file.identity, registry.processes[seat.process].id});
    }
  }
  for (const Opener& opener : openers) {
    if (!alive(opener.process)) continue;
    std::string found = descriptor_of(opener.process.pid, opener.identity);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace forebay::runtime
