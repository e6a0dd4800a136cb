// Takes the place of processes that died: ends their half-done work and commits the bytes they
// left.

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/node/node_member.h"
#include "runtime/node/own_change.h"

namespace forebay::runtime {

namespace {

class Reaping {
 public:
  explicit Reaping(Registry& registry) : lock_(registry.reaping) { lock_.lock(); }
  ~Reaping() { lock_.unlock(); }
  Reaping(const Reaping&) = delete;
  Reaping& operator=(const Reaping&) = delete;

 private:
  SharedMutex& lock_;
};

}  // namespace

std::vector<uint32_t> NodeMember::dead_processes() {
  std::vector<uint32_t> dead;
  for (const ProcessEntry& process : registry_->made_processes()) {
    const ProcessId id = process.id;
    const uint32_t number = registry_->processes.index_of(process);
    if (id.pid != 0 && number != process_ && !alive(id)) dead.push_back(number);
  }
  return dead;
}

void NodeMember::forget_the_dead() {
  for (const uint32_t dead : dead_processes()) registry_->processes[dead] = {};
  for (FileEntry& file : registry_->made_files()) file.kept.store(0);
}

bool NodeMember::keeps_bytes() const {
  const std::span<const FileEntry> files = registry_->made_files();
  return std::any_of(files.begin(), files.end(),
                     [](const FileEntry& file) { return file.kept.load() != 0; });
}

int64_t NodeMember::unsaved_bytes(const FileEntry& file) {
  Status status;
  ArenaCache* cache = this->cache(file.arena, &status);
  return cache == nullptr ? 0 : cache->unsaved_bytes(file.id);
}

ArenaFile NodeMember::without_handle(FileEntry& file, Storage* storage, Statistics& statistics) {
  ArenaFile::Parts parts;
  parts.entry = &file;
  parts.slot = registry_->files.index_of(file);
  parts.storage = storage;
  parts.writable = storage != nullptr;
  parts.commit_size_bytes = commit_size_bytes;
  parts.registry = registry_;
  parts.job = job();
  parts.statistics = &statistics;
  return ArenaFile(parts);
}

NodeMember::Saved NodeMember::save(FileEntry& file, const Refusal& refusal) {
  Saved saved;
  saved.slot = registry_->files.index_of(file);
  saved.path = file.path;
  ArenaCache* cache = this->cache(file.arena, &saved.status);
  if (cache == nullptr) return saved;
  saved.bytes = cache->unsaved_bytes(file.id);
  if (saved.bytes == 0) return saved;
  if (refusal) saved.refusal = refusal(file);
  if (!saved.refusal.empty()) return saved;
  Storage* storage = writable_storage(saved.slot, file.id);
  if (storage == nullptr) {
    saved.status = {Code::access, EACCES, -1};
    return saved;
  }
  Statistics statistics;
  ArenaFile left = without_handle(file, storage, statistics);
  saved.status = cache->commit(left, {0, INT64_MAX});
  if (saved.status.ok()) saved.status = storage->flush();
  return saved;
}

std::vector<NodeMember::Saved> NodeMember::reap(uint32_t dead, const Refusal& refusal) {
  std::vector<Saved> all;
  // One process reaps at a time: the number of a reaped process may be given to another at once.
  const Reaping alone(*registry_);
  const ProcessId id = registry_->processes[dead].id;
  if (id.pid == 0 || alive(id)) return all;
  Status status;
  for (uint32_t a = 0; a < registry_->arenas; ++a) {
    if (ArenaCache* cache = this->cache(a, &status)) cache->end_io_of(dead);
  }
  for (Seat& seat : registry_->made_seats()) {
    const uint32_t slot = seat.file.load();
    if (slot == no_entry || seat.process != dead) continue;
    seat.busy.store(0);
    FileEntry& file = registry_->files[slot];
    if (seat.direct.exchange(0) != 0) file.direct_writers.fetch_sub(1);
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const Saved& saved) { return saved.path == file.path; });
    Saved saved = save(file, refusal);
    const bool unsaved = !saved.status.ok() || !saved.refusal.empty();
    {
      const RegistryLock lock(*registry_);
      if (unsaved) {
        file.kept.store(1);
        file.keep_end(seat.end.load());
      }
      seat.file.store(no_entry);
      if (file.handles.load() == 1 && !unsaved) forget(file);
      file.handles.fetch_sub(1);
    }
    if (saved.bytes > 0 || (unsaved && !known)) all.push_back(std::move(saved));
  }
  const RegistryLock lock(*registry_);
  registry_->processes[dead] = {};
  return all;
}

std::vector<NodeMember::Saved> NodeMember::reap_with_own_cache(uint32_t dead) {
  std::vector<Saved> all;
  const auto add = [&all](std::vector<Saved> saved) {
    std::move(saved.begin(), saved.end(), std::back_inserter(all));
  };
  Status status;
  const pid_t pid = registry_->processes[dead].id.pid;
  if (const auto own = adopt(registry_path_of(pid), &status)) {
    own->work_for(*this);
    for (const uint32_t process : own->dead_processes()) add(own->reap(process));
  }
  add(reap(dead));
  return all;
}

std::vector<NodeMember::Saved> NodeMember::save_kept(const Refusal& refusal) {
  std::vector<Saved> all;
  for (FileEntry& file : registry_->made_files()) {
    if (file.kept.load() == 0) continue;
    Saved& saved = all.emplace_back(save(file, refusal));
    if (!saved.problem().empty()) saved.told = file.told.exchange(1) != 0;
  }
  return all;
}

void NodeMember::discard_kept(FileEntry& file) {
  const RegistryLock lock(*registry_);
  file.kept.store(0);
  if (file.handles.load() == 0) forget(file);
}

void NodeMember::end_rest(FileEntry& file) {
  if (file.resting.exchange(0) != 0) forget(file);
}

// Forgets the frames of a file that no handle has open any more.
void NodeMember::forget(FileEntry& file) {
  Status status;
  leave_job_changes(file, job());
  ArenaCache* cache = this->cache(file.arena, &status);
  if (cache == nullptr) return;
  Statistics statistics;
  const ArenaFile closed = without_handle(file, nullptr, statistics);
  (void)cache->wake(closed);
  cache->drop(closed, {0, INT64_MAX}, true);
}

}  // namespace forebay::runtime
