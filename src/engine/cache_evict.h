// Victims with dirty bytes. Those of one access leave the cache as one list (Settlemyer 4.2.1.1),
// or wait in the write-back buffer, so that the access need not wait for storage (7.4.3).
#pragma once

#include <algorithm>

#include "engine/cache.h"

namespace forebay {

// The dirty victims of one access. Each is claimed when it is chosen, and a page of the access
// waits for its frame until evict(). Meanwhile the access waits for no other frame.
template <typename Driver>
class Cache<Driver>::Evictions {
 public:
  explicit Evictions(Cache& cache) : cache_(cache), leaving_(cache) {}

  bool empty() const { return waiting_.empty(); }
  int64_t size() const { return std::ssize(waiting_); }
  bool awaits(const OpenFile& file, int64_t page) const {
    return !empty() && waiting_.back().page == cache_.key_of(file, page);
  }
  // After evict(): whether the page that was the nth to wait has its frame.
  bool placed(int64_t nth) const { return waiting_[static_cast<std::size_t>(nth)].placed; }
  // After evict(): where the first page begins that waited and has no frame; INT64_MAX: none.
  int64_t first_unplaced() const {
    int64_t first = INT64_MAX;
    for (const Waiting& waiting : waiting_) {
      if (!waiting.placed) first = std::min(first, waiting.page.page * cache_.page_size());
    }
    return first;
  }
  // After evict(): in `pages` are those of its pages, and of others, that the policy has not
  // counted.
  void uncounted(std::vector<int64_t>& pages) const {
    for (const Waiting& waiting : waiting_) {
      const auto known = std::ranges::find(pages, waiting.page.page);
      if (waiting.count && known == pages.end()) pages.push_back(waiting.page.page);
      if (!waiting.count && known != pages.end()) pages.erase(known);
    }
  }
  // Nothing leaves; the victims are dirty again.
  void clear() {
    leaving_.give_back();
    waiting_.clear();
  }

 private:
  friend class Cache;
  struct Waiting {
    PageKey page;
    PageKey victim;
    FrameIndex frame;  // the victim's
    bool count;        // the policy counts a new access to `page`
    bool placed = false;
  };

  // Claims `victim` for `page`, under the lock of their shard. none: evict() must come first.
  // again: the victim has no dirty bytes.
  Got take(OpenFile& file, PageKey page, bool count, FrameIndex victim, Status* status) {
    const PageKey old = cache_.frame(victim).key;
    const int64_t most = pages_a_fill(cache_.frames());
    if (!empty() && (size() == most || old.file != waiting_.front().victim.file ||
                     leaving_.bytes() >= file.commit_size_bytes()))
      return Got::none;
    waiting_.reserve(static_cast<std::size_t>(most));
    leaving_.reserve(std::size_t{most_pages_a_plan});
    if (!leaving_.add(file, victim, status)) return status->ok() ? Got::again : Got::none;
    waiting_.push_back({page, old, victim, count});
    return Got::leaving;
  }

  Cache& cache_;
  Committing leaving_;
  std::vector<Waiting> waiting_;
};

// Adds the dirty pages beside a victim to the list.
template <typename Driver>
Status Cache<Driver>::take_neighbours(OpenFile& file, Committing& list, PageKey victim) {
  Status status;
  int64_t pages = 1;
  const int64_t most = pages_around_victim(file.commit_size_bytes(), page_size());
  walk_neighbours(victim.page, [&](int64_t page, int64_t) {
    if (pages == most || list.frames() == std::size_t{most_pages_a_plan}) return false;
    const PageKey neighbour{victim.file, page};
    const Locked lock(*this, shard_number(neighbour));
    const FrameIndex f = arena_.shard(shard_number(neighbour)).find(neighbour);
    if (f == no_frame || !frame(f).may_be_dirty() || frame(f).io != FrameIo::idle) return false;
    ++pages;
    return list.add(file, f, &status);
  });
  return status;
}

// Commits the victims, and gives their frames to the pages that wait for them: `placed(page,
// frame)` is told of each, whose frame is closed and empty, under the frame's lock. A page gets no
// frame if its victim was used meanwhile, or if it came another way.
template <typename Driver>
template <typename Placed>
Status Cache<Driver>::evict(OpenFile& file, Evictions& evictions, const Placed& placed) {
  Status status;
  try {
    for (const auto& waiting : evictions.waiting_) {
      status = take_neighbours(file, evictions.leaving_, waiting.victim);
      if (!status.ok()) break;
    }
    if (status.ok()) status = evictions.leaving_.write(file);
  } catch (...) {
    evictions.clear();
    throw;
  }
  if (!status.ok()) {
    evictions.clear();
    return status;
  }
  for (auto& waiting : evictions.waiting_) {
    const uint32_t s = shard_number(waiting.page);
    const Locked lock(*this, s);
    const Frame& victim = frame(waiting.frame);
    if (!(victim.key == waiting.victim) || victim.io != FrameIo::idle ||
        arena_.shard(s).find(waiting.page) != no_frame || !close_clean(waiting.frame))
      continue;
    replace(file, waiting.frame, waiting.page, &waiting.count);
    waiting.placed = true;
    placed(waiting.page, waiting.frame);
  }
  return {};
}

// Frees the frame of a page that leaves, if storage has its bytes. Under the frame's lock; no I/O
// of the frame is under way.
template <typename Driver>
void Cache<Driver>::free_if_stored(FrameIndex index) {
  if (frame(index).leaving != 0 && close_clean(index)) release_frame(index);
}

template <typename Driver>
Status Cache<Driver>::write_back(OpenFile& file) {
  std::vector<std::pair<PageKey, FrameIndex>> leaving;
  for (uint32_t s = 0; s < arena_.shards(); ++s) {
    const ShardState& shard = arena_.shard(s).state();
    Locked lock(*this, s);
    if (shard.leaving == 0) continue;
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      if (frame(f).leaving == 0 || frame(f).io != FrameIo::idle) continue;
      const PageKey key = frame(f).key;
      free_if_stored(f);  // a process that died may not have come to it
      if (frame(f).leaving != 0) leaving.emplace_back(key, f);
      lock.signal_when_done();
    }
  }
  std::ranges::sort(leaving, {},
                    [](const auto& page) { return std::pair(page.first.file, page.first.page); });
  Status result;
  Committing list(*this);
  list.reserve(std::size_t{most_pages_a_plan});
  for (auto next = leaving.cbegin(); next != leaving.cend();) {
    const uint64_t id = next->first.file;
    Status status;
    for (; status.ok() && next != leaving.cend() && next->first.file == id &&
           list.bytes() < file.commit_size_bytes() && list.frames() < most_pages_a_plan;
         ++next) {
      const auto& [key, f] = *next;
      {
        const Locked lock(*this, shard_number(f));
        if (!(frame(f).key == key) || frame(f).io != FrameIo::idle) continue;
        if (!list.add(file, f, &status)) continue;
      }
      status = take_neighbours(file, list, key);
    }
    if (status.ok() && list.frames() > 0) status = list.write(file);
    if (!status.ok()) {
      list.give_back();
      if (result.ok()) result = status;
    }
  }
  return result;
}

template <typename Driver>
Status Cache<Driver>::evict(OpenFile& file, Evictions& evictions) {
  return evict(file, evictions, [this](PageKey, FrameIndex index) { open_frame(index); });
}

}  // namespace forebay
