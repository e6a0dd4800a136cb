// Which file a path names, and whether an open file's path still names it.
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
  FileStamp stamp;  // as far as this node knows
  std::string absolute_path;
};
// Code::unsupported: the path is not that of a regular file.
Status find_file(const std::string& path, FoundFile* found);

// Asks the file system itself for the file's stamp. False: the path leads to another file now.
bool ask_stamp(const std::string& path, FoundFile* found);

// Stores the file's identity, time of modification and path in a new entry.
void identify(FileEntry& entry, const FoundFile& found);

// Whether the entry's path leads to the entry's file: the same device and inode, created at the
// same time (file systems may give a removed file's inode to another at once).
bool still_named(const FileEntry& entry);

// The path of a descriptor by which a process of the node has a file open, whatever became of the
// file's name. The file has this inode, and a process of some node has opened it as `path`; files
// of other file systems may have the same inode. "": no process has it open.
std::string path_of_descriptor(Registry& registry, const std::string& path, uint64_t inode);

// A file's time of modification.
int64_t modified_ns(const struct stat& info);

}  // namespace forebay::runtime
