// Which file a path names, and whether an open file's path still names it.
#pragma once

#include <sys/stat.h>

#include <string>

#include "extent/status.h"
#include "runtime/node/registry.h"

namespace forebay::runtime {

// The path without links and from the root; "" if there is no such file.
std::string absolute_path(const std::string& path);

// The regular file that a path led to. It is held, but not open for access: so a network file
// system is asked once for what is on its path, whatever else is asked about the file.
struct FoundFile {
  FoundFile() = default;
  FoundFile(const FoundFile&) = delete;
  FoundFile& operator=(const FoundFile&) = delete;
  ~FoundFile();

  FileIdentity identity;
  FileStamp stamp;  // as far as this node knows
  std::string absolute_path;
  // By which this process opens the file, as long as it is held; the file may have lost its name.
  std::string path_to_open;
  int descriptor = -1;
};
// Code::unsupported: the path is not that of a regular file. Fails, too, without a free descriptor.
Status find_file(const std::string& path, FoundFile* found);

// Asks the file system itself for the file's stamp.
bool ask_stamp(FoundFile* found);

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
