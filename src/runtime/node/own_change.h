// What the job has written to its files, noted so that recovery can tell it from what others write.
#pragma once

#include <span>
#include <string>

#include "runtime/node/registry.h"
#include "storage/storage.h"

namespace forebay::runtime {

class Node;

// Where a file's changes are noted: in its entry, and where that is in the registry of one process
// also in the job's. Processes die one by one, and their registries with them.
class ChangeNotes {
 public:
  // `job`: null where the entry's registry is the job's own.
  ChangeNotes(FileEntry& file, Registry* job);
  void begin_write();
  // `storage`: is asked for the file's new time of modification; null: let it be.
  void end_write(Storage* storage);
  void modified(int64_t modified_ns);

 private:
  LastChange* notes_[2] = {};
};

// A write of ours, for as long as this lives.
class NotedWrite {
 public:
  NotedWrite(FileEntry& file, Registry* job, Storage& storage, bool ask)
      : notes_(file, job), storage_(ask ? &storage : nullptr) {
    notes_.begin_write();
  }
  ~NotedWrite() { notes_.end_write(storage_); }
  NotedWrite(const NotedWrite&) = delete;
  NotedWrite& operator=(const NotedWrite&) = delete;

 private:
  ChangeNotes notes_;
  Storage* storage_;
};

// A new entry's place among the job's changes, and giving it back. Under the entry's registry's
// lock.
void join_job_changes(FileEntry& file, Node* job);
void leave_job_changes(FileEntry& file, Registry* job);

// The job itself has changed the file, past the cache.
void note_own_change(FileEntry& file, Registry* job);

// Why bytes kept for the file must not be committed to it by whoever comes later; "" if they may:
// the file is the same, and nobody has written to it since the job last did, going by `ours`.
std::string change_by_others(const FileEntry& file, std::span<const LastChange* const> ours);

}  // namespace forebay::runtime
