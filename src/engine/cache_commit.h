// Write-back: which frames are dirty, their regions as few large requests, and forgetting pages.
#pragma once

#include <algorithm>

#include "engine/cache.h"

namespace forebay {

// Whether the frame's page is of `file` and meets `range`. Under the frame's lock.
template <typename Driver>
bool Cache<Driver>::meets(const Frame& frame, uint64_t file, Extent range) const {
  return frame.key.file == file &&
         !intersect({frame.key.page * page_size(), page_size()}, range).empty();
}

template <typename Driver>
std::vector<FrameIndex> Cache<Driver>::frames_of(uint64_t file, Extent range, Which which) {
  std::vector<std::pair<int64_t, FrameIndex>> found;
  for (uint32_t s = 0; s < arena_.shards(); ++s) {
    const ShardState& shard = arena_.shard(s).state();
    const Locked lock(*this, s);
    if (shard.resident == 0) continue;
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      const Frame& frame = this->frame(f);
      if (!meets(frame, file, range)) continue;
      if (which != Which::all && frame.dirty_hint.load() == 0 && !commits(frame)) continue;
      if (which == Which::full && !kind().holds(state(f), page_size(), whole_page())) continue;
      found.emplace_back(frame.key.page, f);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<FrameIndex> frames;
  frames.reserve(found.size());
  for (const auto& entry : found) frames.push_back(entry.second);
  return frames;
}

template <typename Driver>
Status Cache<Driver>::commit(OpenFile& file, Extent range) {
  if (!may_be_dirty()) return {};
  const FileState& shared = file.state();
  std::vector<FrameIndex> frames = frames_of(shared.id, range, Which::dirty);
  if (frames.empty()) return {};
  // Ranks that commit at the same time begin at different frames, and so share the work.
  const uint32_t handles = std::max<uint32_t>(shared.handles, 1);
  const std::size_t start = frames.size() * (file.number() % handles) / handles;
  std::rotate(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(start), frames.end());
  return commit_frames(file, std::move(frames), shared.id, true);
}

template <typename Driver>
Status Cache<Driver>::commit_frames(OpenFile& file, std::vector<FrameIndex> frames, uint64_t id,
                                    bool wait) {
  Status result;
  IoPlan plan;
  Committing claimed(*this, std::min(frames.size(), std::size_t{most_pages_a_plan}));
  std::vector<FrameIndex> later;
  later.reserve(frames.size());  // nothing is refused while claims are given back
  Regions regions;
  while (!frames.empty()) {
    later.clear();
    std::size_t next = 0;
    while (next < frames.size()) {
      plan.clear();
      typename Driver::Target target{};
      while (next < frames.size() && plan.bytes() < file.commit_size_bytes() &&
             claimed.frames().size() < std::size_t{most_pages_a_plan}) {
        const FrameIndex f = frames[next++];
        const Frame& frame = this->frame(f);
        Locked lock(*this, shard_number(f));
        if (frame.key.file != id) continue;  // committed and evicted by another process
        if (frame.io != FrameIo::idle) {
          later.push_back(f);
          continue;
        }
        if (frame.dirty_hint.load() == 0) continue;
        if (!target) {
          target = driver_.target(file, frame.file_slot, id);
          if (!target) return {Code::access, EACCES, -1};
        }
        claimed.begin(f);
        if (kind().lock_free()) driver_.drain(f);
        regions.clear();
        kind().take_dirty(state(f), page_size(), regions);
        if (regions.empty()) {
          claimed.take_back();
          continue;
        }
        for (const Extent& region : regions) plan.add(f, frame.key.page * page_size(), region);
      }
      if (claimed.frames().empty()) continue;
      plan.sort();  // commit() may begin in the middle of the file and go on at its start
      const Status status = driver_.write(target, plan, file.statistics());
      if (status.ok()) file.statistics().committed_bytes += plan.bytes();
      claimed.end(status.ok(), later);
      if (!status.ok() && result.ok()) result = status;
    }
    if (!wait || later.empty() || !result.ok()) break;
    {
      Locked lock(*this, shard_number(later.front()));
      const Frame& frame = this->frame(later.front());
      if (frame.key.file == id && frame.io != FrameIo::idle) lock.wait();
    }
    frames = later;
  }
  return result;
}

template <typename Driver>
Status Cache<Driver>::commit_around(OpenFile& file, FrameIndex victim) {
  PageKey key;
  {
    Locked lock(*this, shard_number(victim));
    key = frame(victim).key;
  }
  if (key.file == 0) return {};
  std::vector<FrameIndex> frames{victim};
  const int64_t most = pages_around_victim(file.commit_size_bytes(), page_size());
  walk_neighbours(key.page, [&](int64_t page, int64_t direction) {
    if (std::ssize(frames) >= most) return false;
    const PageKey neighbour{key.file, page};
    Locked lock(*this, shard_number(neighbour));
    const FrameIndex f = arena_.shard(shard_number(neighbour)).find(neighbour);
    if (f == no_frame || frame(f).dirty_hint.load() == 0) return false;
    frames.insert(direction > 0 ? frames.end() : frames.begin(), f);
    return true;
  });
  return commit_frames(file, std::move(frames), key.file, false);
}

template <typename Driver>
Status Cache<Driver>::commit_some(OpenFile& file, uint32_t target) {
  const uint64_t id = file.state().id;
  for (const Which which : {Which::full, Which::dirty}) {
    if (dirty_frames() <= target) return {};
    std::vector<FrameIndex> chosen = frames_of(id, {0, INT64_MAX}, which);
    const std::size_t surplus = dirty_frames() > target ? dirty_frames() - target : 0;
    if (chosen.size() > surplus) chosen.resize(surplus);
    const Status status = commit_frames(file, std::move(chosen), id, false);
    if (!status.ok()) return status;
  }
  return {};
}

// Changes the frames that meet `range`: `change` returns whether the frame keeps its page.
// Allocates nothing, since forgetting bytes must not fail.
template <typename Driver>
template <typename Change>
void Cache<Driver>::change_frames(const OpenFile& file, Extent range, const Change& change) {
  if (!has_frames()) return;
  const uint64_t id = file.state().id;
  for (uint32_t s = 0; s < arena_.shards(); ++s) {
    Locked lock(*this, s);
    const ShardState& shard = arena_.shard(s).state();
    if (shard.resident == 0) continue;
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      const Frame& frame = this->frame(f);
      while (meets(frame, id, range) && frame.io != FrameIo::idle) lock.wait();
      if (!meets(frame, id, range)) continue;
      close_frame(f);
      if (change(f, frame.key.page * page_size())) {
        open_frame(f);
      } else {
        release_frame(f);
      }
      lock.signal_when_done();
    }
  }
}

template <typename Driver>
void Cache<Driver>::drop(const OpenFile& file, Extent range, bool dirty_too) {
  change_frames(file, range, [&](FrameIndex f, int64_t) {
    if (dirty_too || !kind().any_dirty(state(f), page_size())) return false;
    kind().drop_clean(state(f), page_size());
    return true;
  });
}

template <typename Driver>
void Cache<Driver>::truncate(const OpenFile& file, int64_t bytes) {
  change_frames(file, {bytes, INT64_MAX - bytes}, [&](FrameIndex f, int64_t page_start) {
    if (page_start >= bytes) return false;
    kind().truncate(state(f), page_size(), bytes - page_start);
    return true;
  });
}

}  // namespace forebay
