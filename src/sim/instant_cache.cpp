#include "sim/instant_cache.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "sim/instant_driver.h"

namespace forebay::sim {
namespace {

constexpr Extent everything{0, INT64_MAX};

}  // namespace

struct InstantCache::Parts {
  struct Handle {
    Handle(Cache<InstantDriver>& cache, const InstantFile& opened, const HandleRules& rules,
           bool reads)
        : file(opened), accesses(cache, file, rules, reads, false) {
      file.file->opened.push_back(&file);
    }
    InstantFile file;
    CacheHandle<InstantDriver> accesses;
  };

  explicit Parts(const CacheSettings& given)
      : settings(given),
        arena(settings.shape, 0),
        memory(arena.layout().data),
        driver(files),
        cache(arena, driver) {
    settings.handles.deterministic = true;
    settings.handles.step_aside = SteppingAside::never;
    arena.create(memory.base());
  }

  // The slot of an open file, or a new one for a file that is not open.
  uint32_t slot_of(uint64_t number) {
    const auto known = std::ranges::find_if(files, [number](const InstantFileState& file) {
      return file.handles > 0 && file.number == number;
    });
    if (known != files.end()) return static_cast<uint32_t>(known - files.begin());
    auto free = std::ranges::find_if(files, [](const auto& file) { return file.handles == 0; });
    if (free == files.end()) {
      files.emplace_back();
      free = files.end() - 1;
    }
    const auto slot = static_cast<uint32_t>(free - files.begin());
    free->number = number;
    free->id = generation++ * files_at_once + slot;
    free->stored_bytes = 0;
    free->unstored_end = 0;
    return slot;
  }

  // The lowest index of no open handle.
  HandleIndex free_index() {
    const auto free =
        std::ranges::find_if(handles, [](const auto& handle) { return handle == nullptr; });
    const auto index = static_cast<HandleIndex>(free - handles.begin());
    if (free == handles.end()) handles.emplace_back();
    return index;
  }

  CacheSettings settings;
  CacheArena arena;
  LazyMemory memory;
  std::deque<InstantFileState> files;  // by slot; free: no handles
  InstantDriver driver;
  Cache<InstantDriver> cache;
  uint64_t generation = 1;
  std::vector<std::unique_ptr<Handle>> handles;
  Statistics statistics;
};

InstantCache::InstantCache(const CacheSettings& settings)
    : parts_(std::make_unique<Parts>(settings)) {}
InstantCache::~InstantCache() = default;

InstantCache::HandleIndex InstantCache::open(uint64_t file, bool reads, int64_t bytes,
                                             bool by_agent) {
  const uint32_t slot = parts_->slot_of(file);
  InstantFileState& simulated = parts_->files[slot];
  InstantFile opened;
  opened.file = &simulated;
  opened.file_slot = slot;
  opened.commit_size = parts_->settings.commit_size_bytes;
  opened.counted = &parts_->statistics;
  const HandleIndex index = parts_->free_index();
  opened.written_as = writer_of(index);
  if (std::max(simulated.stored_bytes, opened.written_end()) < bytes)
    simulated.stored_bytes = bytes;
  parts_->handles[index] =
      std::make_unique<Parts::Handle>(parts_->cache, opened, parts_->settings.handles, reads);
  if (++simulated.handles > 1 && !by_agent) parts_->cache.drop(opened, everything, false);
  return index;
}

void InstantCache::close(HandleIndex handle, bool discard, AtLeave at_leave) {
  const bool last_commits = at_leave == AtLeave::as_option ? parts_->settings.commit_at_last_close
                                                           : at_leave == AtLeave::last;
  const std::unique_ptr<Parts::Handle> leaving = std::move(parts_->handles[handle]);
  InstantFileState& file = *leaving->file.file;
  if (discard) {
    file.unstored_end = std::max(file.unstored_end.load(), leaving->file.end);
  } else if (file.handles == 1 || !last_commits) {
    static_cast<void>(leaving->accesses.commit_own());  // instant storage takes everything
  }
  if (file.handles == 1 && !discard && parts_->cache.lacks_commits(leaving->file))
    static_cast<void>(leaving->accesses.commit());
  if (file.handles == 1) parts_->cache.drop(leaving->file, everything, true);
  --file.handles;
  std::erase(file.opened, &leaving->file);
}

int64_t InstantCache::access(HandleIndex handle, const Access& access) {
  int64_t moved = 0;
  CacheHandle<InstantDriver>& accesses = parts_->handles[handle]->accesses;
  static_cast<void>(access.writes ? accesses.write(access, NoBytes{}, &moved)
                                  : accesses.read(access, NoBytes{}, &moved));
  return moved;
}

void InstantCache::access_past(HandleIndex handle, bool writes, Extent extent) {
  CacheHandle<InstantDriver>& accesses = parts_->handles[handle]->accesses;
  int64_t moved = 0;
  static_cast<void>(writes ? accesses.bypass_write(extent, NoBytes{})
                           : accesses.bypass_read(extent, NoBytes{}, &moved, 0));
}

void InstantCache::end_read_ahead(HandleIndex handle) {
  HandleRules rules = parts_->settings.handles;
  rules.read_ahead_bytes = 0;
  parts_->handles[handle]->accesses.change_rules(rules);
}

void InstantCache::write_as(HandleIndex handle, uint32_t number) {
  parts_->handles[handle]->file.written_as = writer_of(number);
}

void InstantCache::commit(HandleIndex handle, bool own) {
  CacheHandle<InstantDriver>& accesses = parts_->handles[handle]->accesses;
  static_cast<void>(own ? accesses.commit_own() : accesses.commit());
}

void InstantCache::drop_clean(HandleIndex handle) {
  parts_->cache.drop(parts_->handles[handle]->file, everything, false);
}

void InstantCache::commit_range(HandleIndex handle, Extent range) {
  static_cast<void>(parts_->cache.commit(parts_->handles[handle]->file, range));
}

void InstantCache::drop_range(HandleIndex handle, Extent range) {
  parts_->cache.drop(parts_->handles[handle]->file, range, false);
}

void InstantCache::truncate(HandleIndex handle, int64_t bytes) {
  parts_->handles[handle]->accesses.truncate(bytes);
}

void InstantCache::resize(HandleIndex handle, int64_t bytes) {
  parts_->handles[handle]->file.file->stored_bytes = bytes;
}

const Statistics& InstantCache::statistics() const { return parts_->statistics; }

}  // namespace forebay::sim
