#include "runtime/node/file_identity.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/node/clock.h"
#include "storage/small_files.h"

namespace forebay::runtime {

namespace {

int64_t ns_of(const struct statx_timestamp& time) { return time.tv_sec * second_ns + time.tv_nsec; }

constexpr unsigned what_is_asked = STATX_BASIC_STATS | STATX_BTIME;

// False: there is no such file.
bool ask(const char* path, struct statx* info) {
  return statx(AT_FDCWD, path, AT_STATX_SYNC_AS_STAT, what_is_asked, info) == 0;
}

// The same of a descriptor. `flags`: how much a network file system may answer from memory.
bool ask(int descriptor, struct statx* info, int flags = AT_STATX_SYNC_AS_STAT) {
  return statx(descriptor, "", AT_EMPTY_PATH | flags, what_is_asked, info) == 0;
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
  for (const std::string& descriptor : names_in(folder))
    if (std::string path = folder + descriptor; leads_to(path.c_str(), identity)) return path;
  return "";
}

// Where the kernel says that the file of the descriptor at this path is; "": it does not say.
std::string place_of(const std::string& descriptor) {
  std::array<char, PATH_MAX> place;
  const ssize_t length = readlink(descriptor.c_str(), place.data(), place.size());
  if (length <= 0 || length == std::ssize(place) || place[0] != '/') return "";
  return {place.data(), static_cast<std::size_t>(length)};
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

FoundFile::~FoundFile() {
  if (descriptor >= 0) close(descriptor);
}

Status find_file(const std::string& path, FoundFile* found) {
  found->descriptor = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (found->descriptor < 0 && (errno == EMFILE || errno == ENFILE))
    return Status::from_errno(errno);
  struct statx info;
  if (!ask(found->descriptor, &info) || !S_ISREG(info.stx_mode)) return {Code::unsupported, 0, -1};
  found->identity = identity_of(info);
  found->stamp = stamp_of(info);
  found->path_to_open = "/proc/self/fd/" + std::to_string(found->descriptor);
  found->absolute_path = place_of(found->path_to_open);
  const bool removed = found->absolute_path.ends_with(" (deleted)") &&
                       !leads_to(found->absolute_path.c_str(), found->identity);
  if (removed) found->absolute_path.clear();
  if (found->absolute_path.empty() && !removed) {  // no /proc, or one without descriptors
    found->path_to_open = path;
    found->absolute_path = absolute_path(path);
  }
  return {};
}

bool ask_stamp(FoundFile* found) {
  struct statx info;
  if (!ask(found->descriptor, &info, AT_STATX_FORCE_SYNC)) return false;
  found->stamp = stamp_of(info);
  return true;
}

void identify(FileEntry& entry, const FoundFile& found) {
  entry.identity = found.identity;
  entry.changed.modified_ns.store(found.stamp.modified_ns);
  entry.changed.written_ns.store(0);
  entry.changed.being_written.store(0);
  entry.changed.must_ask.store(false);
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
