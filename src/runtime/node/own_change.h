// Notes when the job writes to its files, so that recovery can tell the job's own writes from those
// of others.
#pragma once

#include <span>
#include <string>

#include "runtime/node/registry.h"
#include "storage/storage.h"

namespace forebay::runtime {

class NodeMember;

// Where a file's changes are noted: in the file's entry and, if the entry is in the registry of a
// single process (scope process), also in the job's registry. Processes die one by one, and their
// registries with them.
class ChangeNotes {
 public:
  // `job`: the job's registry; null if the entry is in it.
  ChangeNotes(FileEntry& file, Registry* job);
  void begin_write();
  // `asks`: the file's new time of modification must be known. `storage` is asked for it when no
  // write is under way any more: a question beside a write delays that write on many file systems,
  // and makes some of them store wrong sizes. null: nobody is asked.
  void end_write(Storage* storage, bool asks);
  void modified(int64_t modified_ns);

 private:
  LastChange* notes_[2] = {};
};

// Notes a write of the job that lasts as long as this object.
class NotedWrite {
 public:
  NotedWrite(FileEntry& file, Registry* job, Storage& storage, bool asks)
      : notes_(file, job), storage_(storage), asks_(asks) {
    notes_.begin_write();
  }
  ~NotedWrite() { notes_.end_write(&storage_, asks_); }
  NotedWrite(const NotedWrite&) = delete;
  NotedWrite& operator=(const NotedWrite&) = delete;

 private:
  ChangeNotes notes_;
  Storage& storage_;
  bool asks_;
};

// Gives a new entry a place among the job's changes, and gives the place back. Both need the lock
// of the entry's registry.
void join_job_changes(FileEntry& file, NodeMember* job);
void leave_job_changes(FileEntry& file, Registry* job);

// Notes that the job itself has changed the file past the cache.
void note_own_change(FileEntry& file, Registry* job);

// A note of a job's last change of a file, as nodes send it to each other. A device has another
// number on another node: there the job, the path, the inode and the time of creation name the
// file.
struct OwnChange {
  std::string job;
  std::string path;
  uint64_t inode = 0;
  int64_t birth_ns = 0;
  int64_t modified_ns = 0;  // and so on: as in LastChange
  int64_t written_ns = 0;
  bool being_written = false;
};

// What `changed` notes of the file.
OwnChange own_change(const std::string& job, const FileIdentity& file, const std::string& path,
                     const LastChange& changed);

// Why a recovery must not commit the bytes kept for the file; "" if it may: the path still names
// the same file, and nobody has written to it since the job's last write that `ours` notes.
std::string change_by_others(const FileEntry& file, std::span<const OwnChange> ours);

}  // namespace forebay::runtime
