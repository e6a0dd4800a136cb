#include "runtime/node/own_change.h"

#include <sys/stat.h>

#include <algorithm>

#include "runtime/node/clock.h"
#include "runtime/node/file_identity.h"
#include "runtime/node/node_member.h"

namespace forebay::runtime {

namespace {

// A write of the job may change the file later than it is noted: the file system's clock ticks
// coarsely, and a write that was under way when its process died may have gone on.
constexpr int64_t tick_ns = 20'000'000;
constexpr int64_t longest_write_ns = 10 * second_ns;

bool explains(const OwnChange& change, int64_t modified_ns) {
  const int64_t latest = std::max(change.modified_ns, change.written_ns);
  return modified_ns == change.modified_ns ||
         modified_ns <= latest + (change.being_written ? longest_write_ns : tick_ns);
}

// A store, even of the same value, would take the cache line from the node's other processes.
void store_written(LastChange& note, int64_t now) {
  if (note.written_ns.load(std::memory_order_relaxed) != now)
    note.written_ns.store(now, std::memory_order_relaxed);
}

}  // namespace

ChangeNotes::ChangeNotes(FileEntry& file, Registry* job) {
  notes_[0] = &file.changed;
  if (job != nullptr && file.job_change != no_entry)
    notes_[1] = &job->changes[file.job_change].changed;
}

void ChangeNotes::begin_write() {
  const int64_t now = now_ns(CLOCK_REALTIME_COARSE);
  for (LastChange* note : notes_) {
    if (note == nullptr) continue;
    store_written(*note, now);
    note->being_written.fetch_add(1);
  }
}

void ChangeNotes::end_write(Storage* storage, bool asks) {
  const int64_t now = now_ns(CLOCK_REALTIME_COARSE);
  for (LastChange* note : notes_) {
    if (note != nullptr) store_written(*note, now);
  }
  LastChange& own = *notes_[0];
  uint32_t writes = own.being_written.load();
  if (writes > 1 && asks) own.must_ask.store(true);
  while (writes > 1 && !own.being_written.compare_exchange_weak(writes, writes - 1)) {
  }
  if (writes == 1) {
    if (storage != nullptr && (own.must_ask.exchange(false) || asks))
      modified(storage->modified_ns());
    own.being_written.fetch_sub(1);
  }
  if (notes_[1] != nullptr) notes_[1]->being_written.fetch_sub(1);
}

void ChangeNotes::modified(int64_t modified_ns) {
  for (LastChange* note : notes_) {
    if (note == nullptr) continue;
    int64_t known = note->modified_ns.load();
    while (known < modified_ns && !note->modified_ns.compare_exchange_weak(known, modified_ns)) {
    }
  }
}

void join_job_changes(FileEntry& file, NodeMember* job) {
  file.job_change = no_entry;
  if (job == nullptr) return;
  Registry& registry = job->registry();
  const RegistryLock lock(registry);
  uint32_t place = no_entry;
  for (const JobChange& change : registry.made_changes()) {
    const uint32_t c = registry.changes.index_of(change);
    if (change.caches == 0) {
      place = std::min(place, c);
    } else if (change.identity == file.identity) {
      place = c;
      break;
    }
  }
  if (place == no_entry) place = job->make_changes();
  if (place == no_entry) return;
  JobChange& change = registry.changes[place];
  if (change.caches++ == 0) {
    change.identity = file.identity;
    change.changed.modified_ns.store(file.changed.modified_ns.load());
    change.changed.written_ns.store(0);
    change.changed.being_written.store(0);
  }
  file.job_change = place;
}

void leave_job_changes(FileEntry& file, Registry* job) {
  if (job == nullptr || file.job_change == no_entry) return;
  const RegistryLock lock(*job);
  --job->changes[file.job_change].caches;
  file.job_change = no_entry;
}

void note_own_change(FileEntry& file, Registry* job) {
  struct stat info;
  if (file.path[0] != '\0' && stat(file.path, &info) == 0)
    ChangeNotes(file, job).modified(modified_ns(info));
}

OwnChange own_change(const std::string& job, const FileIdentity& file, const std::string& path,
                     const LastChange& changed) {
  return {job,
          path,
          file.inode,
          file.birth_ns,
          changed.modified_ns.load(),
          changed.written_ns.load(),
          changed.being_written.load() != 0};
}

std::string change_by_others(const FileEntry& file, std::span<const OwnChange> ours) {
  struct stat info;
  if (file.path[0] == '\0') return "its path is not known";
  if (stat(file.path, &info) != 0) return "it is gone";
  if (!still_named(file)) return "another file has its name";
  const bool explained = std::any_of(ours.begin(), ours.end(), [&](const OwnChange& change) {
    return explains(change, modified_ns(info));
  });
  return explained ? "" : "it was changed after the job last wrote to it";
}

}  // namespace forebay::runtime
