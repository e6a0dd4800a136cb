// Opening and leaving a file of the cache: identity, entry, arena, seat.

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/arena_cache.h"
#include "runtime/cached_file.h"
#include "runtime/file_identity.h"
#include "runtime/node.h"
#include "runtime/own_change.h"
#include "runtime/registry.h"

namespace forebay::runtime {

namespace {

constexpr int64_t share_of_read_ahead = 4;  // at most a quarter of the cache is fetched ahead

template <typename Table, typename Name>
uint32_t index_of(const Table& table, const Name& matches) {
  return static_cast<uint32_t>(std::find_if(table.begin(), table.end(), matches) - table.begin());
}

ArenaConfig config_of(const Options& options) {
  ArenaConfig config;
  config.page_size = options.page_size_bytes;
  config.capacity_bytes = options.cache_size_bytes;
  if (options.scope == Scope::node) config.capacity_bytes *= options.local_processes;
  config.shards = options.shards;
  config.page_kind = index_of(
      page_kinds(), [&](const PageKind* kind) { return kind->name() == options.page_kind; });
  config.policy =
      index_of(policies(), [&](const PolicySpec& spec) { return options.policy == spec.name; });
  return config;
}

bool valid(const ArenaConfig& config) {
  return config.page_kind < page_kinds().size() && config.policy < policies().size() &&
         config.page_size >= 512 && config.page_size <= (16 << 20) && config.page_size % 64 == 0;
}

// The number of the arena with this configuration, a new one where there is no_entry; no_entry if
// the table is full.
uint32_t arena_for(Registry& registry, const ArenaConfig& config) {
  for (uint32_t a = 0; a < registry.arenas; ++a) {
    if (registry.arena[a] == config) return a;
  }
  if (registry.arenas == most_arenas) return no_entry;
  registry.arena[registry.arenas] = config;
  return registry.arenas++;
}

// The entry of an open file, or a free one (handles == 0); no_entry if the table is full.
uint32_t entry_for(const Registry& registry, const struct stat& info) {
  uint32_t free_slot = no_entry;
  for (uint32_t f = 0; f < most_files; ++f) {
    const FileEntry& file = registry.files[f];
    if (!file.in_use()) {
      free_slot = std::min(free_slot, f);
    } else if (file.identity.device == info.st_dev && file.identity.inode == info.st_ino) {
      return f;
    }
  }
  return free_slot;
}

StorageOpener by_path(const std::string& path, const std::string& kind) {
  return [path, kind](bool readable, bool writable) -> OpenedStorage {
    const StorageSpec* spec = find_storage(kind);
    if (spec == nullptr || spec->open == nullptr) return {nullptr, {Code::unsupported, 0, -1}};
    return spec->open(path, readable, writable);
  };
}

uint32_t take_seat(Registry& registry, uint32_t process, uint32_t file_slot) {
  for (uint32_t s = 0; s < most_seats; ++s) {
    Seat& seat = registry.seats[s];
    if (seat.file.load() != no_entry) continue;
    seat.end.store(0);
    seat.process = process;
    seat.direct.store(0);
    seat.file.store(file_slot, std::memory_order_release);
    if (s >= registry.seats_in_use.load()) registry.seats_in_use.store(s + 1);
    return s;
  }
  return no_entry;
}

}  // namespace

std::unique_ptr<CachedFile> CachedFile::open(const std::string& path, OpenMode mode,
                                             const Options& options, Status* status,
                                             const StorageOpener& opener) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    *status = Status::from_errno(errno);
    return nullptr;
  }
  if (!S_ISREG(info.st_mode)) {
    *status = {Code::unsupported, 0, -1};
    return nullptr;
  }
  const ArenaConfig config = config_of(options);
  if (!valid(config)) {
    *status = {Code::bad_argument, EINVAL, -1};
    return nullptr;
  }
  Node* node = node_of(options.scope, options, status);
  if (node == nullptr) return nullptr;
  if (options.scope == Scope::process) {
    Node* const job = node_of(Scope::node, options, status);
    if (job == nullptr) return nullptr;
    node->work_for(job->registry());
  }
  std::unique_ptr<CachedFile> file(new CachedFile);
  file->options_ = options;
  file->node_ = node;
  Registry& registry = node->registry();
  bool joined = false;
  {
    const RegistryLock lock(registry);
    const uint32_t slot = entry_for(registry, info);
    if (slot == no_entry) {
      *status = {Code::no_memory, ENFILE, -1};
      return nullptr;
    }
    FileEntry& entry = registry.files[slot];
    joined = entry.in_use();
    if (!joined) {
      entry.arena = arena_for(registry, config);
      if (entry.arena == no_entry) {
        *status = {Code::no_memory, ENFILE, -1};
        return nullptr;
      }
      entry.id = registry.next_file_generation++ * files_at_once + slot;
      entry.unstored_end.store(0);
      entry.write_through.store(0);
      entry.aside.store(0);
      identify(entry, path, info);
      join_job_changes(entry, node->job());
    }
    const uint32_t seat = take_seat(registry, node->process(), slot);
    if (seat == no_entry) {
      *status = {Code::no_memory, ENFILE, -1};
      return nullptr;
    }
    ++entry.handles;
    entry.kept.store(0);  // what was left is this handle's to commit now
    file->file_ = &entry;
    file->file_slot_ = slot;
    file->seat_ = &registry.seats[seat];
    file->seat_number_ = seat;
  }
  // From here on leaving through close() undoes what was done.
  file->storage_ = node->storage(file->file_slot_, opener ? opener : by_path(path, options.storage),
                                 mode, status);
  if (file->storage_ != nullptr) file->arena_ = node->arena(file->file_->arena, status);
  if (file->arena_ == nullptr) {
    const Status ignored = file->close(false);
    (void)ignored;  // nothing was written
    return nullptr;
  }
  const ArenaConfig& effective = registry.arena[file->file_->arena];
  file->options_.page_size_bytes = effective.page_size;
  file->options_.page_kind = page_kinds()[effective.page_kind]->name();
  file->options_.policy = policies()[effective.policy].name;
  const int64_t window =
      std::min(options.read_ahead_bytes, file->arena_->capacity_bytes() / share_of_read_ahead);
  if (mode != OpenMode::write_only && window > 0) {
    file->predictor_.emplace(window, file->arena_->page_size());
  }
  if (joined) file->drop_clean();
  *status = {};
  return file;
}

Status CachedFile::close(bool discard) {
  if (file_ == nullptr) return {};
  if (node_ != nullptr) {
    closing_.store(true, std::memory_order_relaxed);
    node_->helper().cancel(this);
    node_->helper().cancel(&to_fetch_);
  }
  Status status;
  if (arena_ != nullptr) {
    if (!discard) status = commit();
    if (wants_write_through_) file_->write_through.fetch_sub(1);
    const Statistics mine = statistics();
    node_->add_commit_cost(file_->identity.device, {mine.commit_ns, mine.committed_bytes});
  }
  const RegistryLock lock(node_->registry());
  if (!status.ok()) file_->keep_end(seat_->end.load());
  seat_->file.store(no_entry, std::memory_order_release);
  if (file_->handles == 1 && arena_ != nullptr) {
    if (status.ok()) {
      arena_->drop(requester(), {0, INT64_MAX}, true);
      leave_job_changes(*file_, node_->job());
    } else {
      file_->kept.store(1);
    }
  }
  --file_->handles;
  file_ = nullptr;
  return status;
}

CachedFile::~CachedFile() {
  const Status status = close(true);
  (void)status;
}

}  // namespace forebay::runtime
