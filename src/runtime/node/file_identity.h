// Whether the name of an open file still means that file.
#pragma once

#include <sys/stat.h>

#include <string>

#include "extent/status.h"
#include "runtime/node/registry.h"

namespace forebay::runtime {

// The path without links and from the root; "" if there is no such file.
std::string absolute_path(const std::string& path);

// The regular file that a path leads to.
struct FoundFile {
  FileIdentity identity;
  int64_t modified_ns = 0;
  std::string absolute_path;
};
// Unsupported where the path is not one of a regular file.
Status find_file(const std::string& path, FoundFile* found);

// Notes in a new entry which file it is, and its time of modification.
void identify(FileEntry& entry, const FoundFile& found);

// The entry's path leads to the entry's file: the same device and inode, created at the same time
// (file systems give an inode's number to another file at once).
bool still_named(const FileEntry& entry);

// A file's time of modification.
int64_t modified_ns(const struct stat& info);

}  // namespace forebay::runtime
