// A cache with one open file, for tests of a handle: storage is a number, the file's size.
#pragma once

#include <deque>

#include "engine/cache.h"
#include "sim/instant_driver.h"

namespace forebay::sim {

// Of one shard.
inline CacheShape one_shard(int64_t page_bytes, int64_t pages) {
  return {.page_kind = find_page_kind("mask"),
          .policy = find_policy("lru"),
          .page_size = page_bytes,
          .capacity_bytes = pages * page_bytes,
          .shards = 1};
}

// `Driver`: InstantDriver, or one derived from it whose OpenFile is made from an InstantFile.
template <typename Driver>
class OneFileCache {
 public:
  explicit OneFileCache(const CacheShape& shape)
      : arena_(shape, 0),
        memory_(arena_.layout().data),
        driver_(files_),
        cache_(created(arena_, memory_), driver_) {
    state().id = files_at_once;
    open();
  }
  OneFileCache(const OneFileCache&) = delete;
  OneFileCache& operator=(const OneFileCache&) = delete;

  Cache<Driver>& cache() { return cache_; }
  InstantFileState& state() { return files_[0]; }
  const InstantFileState& state() const { return files_[0]; }
  typename Driver::OpenFile& file() { return opened_.front(); }
  // One more handle.
  typename Driver::OpenFile& open() {
    InstantFile handle;
    handle.file = &state();
    handle.counted = &statistics_;
    handle.commit_size = 1 << 20;
    handle.written_as = writer_of(static_cast<uint32_t>(opened_.size()));
    state().opened.push_back(&opened_.emplace_back(handle));
    return opened_.back();
  }
  const Statistics& statistics() const { return statistics_; }

 private:
  static CacheArena& created(CacheArena& arena, LazyMemory& memory) {
    arena.create(memory.base());
    return arena;
  }

  Statistics statistics_;
  std::deque<InstantFileState> files_{1};
  CacheArena arena_;
  LazyMemory memory_;
  Driver driver_;
  Cache<Driver> cache_;
  std::deque<typename Driver::OpenFile> opened_;
};

}  // namespace forebay::sim
