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

// The frames that are `wanted`, asked under their locks, by page.
template <typename Driver>
template <typename Wanted>
std::vector<std::pair<int64_t, FrameIndex>> Cache<Driver>::pages_where(const Wanted& wanted) {
  std::vector<std::pair<int64_t, FrameIndex>> found;
  for (uint32_t s = 0; s < arena_.shards(); ++s) {
    const ShardState& shard = arena_.shard(s).state();
    const Locked lock(*this, s);
    if (shard.resident == 0) continue;
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      if (wanted(f)) found.emplace_back(frame(f).key.page, f);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

template <typename Driver>
std::vector<FrameIndex> Cache<Driver>::frames_of(uint64_t file, Extent range, Which which,
                                                 Writers writers) {
  const auto found = pages_where([&](FrameIndex f) {
    const Frame& frame = this->frame(f);
    if (!meets(frame, file, range)) return false;
    if (which != Which::all && (frame.writers.load() & writers) == 0 && !commits(frame))
      return false;
    return which != Which::full || kind().holds(state(f), page_size(), whole_page());
  });
  std::vector<FrameIndex> frames;
  frames.reserve(found.size());
  for (const auto& entry : found) frames.push_back(entry.second);
  return frames;
}

template <typename Driver>
Status Cache<Driver>::commit(OpenFile& file, Extent range, Writers writers) {
  if (!may_be_dirty()) return {};
  const FileState& shared = file.state();
  std::vector<FrameIndex> frames = frames_of(shared.id, range, Which::dirty, writers);
  if (frames.empty()) return {};
  begin_apart(file, frames);
  return commit_frames(file, std::move(frames), shared.id, true);
}

// Handles that commit at the same time begin at different frames. So they share the work, and each
// has neighbours for its lists.
template <typename Driver>
void Cache<Driver>::begin_apart(const OpenFile& file, std::vector<FrameIndex>& frames) {
  const uint32_t handles = std::max<uint32_t>(file.state().handles, 1);
  const std::size_t start = frames.size() * (file.number() % handles) / handles;
  std::rotate(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(start), frames.end());
}

template <typename Driver>
bool Cache<Driver>::lacks_commits(const OpenFile& file) {
  return may_be_dirty() && any_frame([&](const Frame& frame) {
           return frame.key.file == file.state().id && (frame.may_be_dirty() || commits(frame));
         });
}

template <typename Driver>
Status Cache<Driver>::commit_frames(OpenFile& file, std::vector<FrameIndex> frames, uint64_t id,
                                    bool wait) {
  Status result;
  Committing list(*this);
  list.reserve(std::min(frames.size(), std::size_t{most_pages_a_plan}));
  std::vector<FrameIndex> later;
  later.reserve(frames.size());  // nothing is refused while claims are given back
  while (!frames.empty()) {
    later.clear();
    std::size_t next = 0;
    while (next < frames.size()) {
      while (next < frames.size() && list.bytes() < file.commit_size_bytes() &&
             list.frames() < std::size_t{most_pages_a_plan}) {
        const FrameIndex f = frames[next++];
        const Frame& frame = this->frame(f);
        const Locked lock(*this, shard_number(f));
        if (frame.key.file != id) continue;  // committed and evicted by another process
        if (frame.io != FrameIo::idle) {
          later.push_back(f);
          continue;
        }
        if (!frame.may_be_dirty()) continue;
        Status status;
        if (!list.add(file, f, &status) && !status.ok()) return status;
      }
      if (list.frames() == 0) continue;
      const Status status = list.write(file, later);
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
PartialPages Cache<Driver>::partial_pages(const OpenFile& file) {
  PartialPages found;
  Regions regions;
  for (const FrameIndex f : frames_of(file.state().id, {0, INT64_MAX}, Which::dirty)) {
    const Locked lock(*this, shard_number(f));
    const Frame& frame = this->frame(f);
    if (frame.key.file != file.state().id || kind().holds(state(f), page_size(), whole_page()))
      continue;
    regions.clear();
    kind().unsaved(state(f), page_size(), regions);
    ++found.pages;
    found.runs += std::ssize(regions);
  }
  return found;
}

// Whether several handles have written to most of these pages (stragglers.h).
template <typename Driver>
bool Cache<Driver>::are_shared(const std::vector<FrameIndex>& frames) {
  const auto shared = std::ranges::count_if(frames, [this](FrameIndex f) {
    const Locked lock(*this, shard_number(f));
    return frame(f).shared != 0;
  });
  return 2 * shared > std::ssize(frames);
}

template <typename Driver>
Status Cache<Driver>::commit_some(OpenFile& file, WriteBehind goal) {
  const uint64_t id = file.state().id;
  for (const Which which : {Which::full, Which::dirty}) {
    const bool full = which == Which::full;
    if (dirty_frames() <= goal.dirty || (!full && goal.partial == Partial::leave)) return {};
    const int64_t end = full ? INT64_MAX : goal.before / page_size() * page_size();
    std::vector<FrameIndex> chosen = frames_of(id, {0, end}, which);
    if (!chosen.empty() && (full || goal.partial == Partial::leave_shared)) {
      const bool shared = are_shared(chosen);
      if (full || shared)
        file.state().shares_pages.store(shared ? SharesPages::yes : SharesPages::no);
      if (!full && shared) return {};
    }
    const std::size_t surplus = dirty_frames() > goal.dirty ? dirty_frames() - goal.dirty : 0;
    if (chosen.size() > surplus) chosen.resize(surplus);
    begin_apart(file, chosen);
    const Status status = commit_frames(file, std::move(chosen), id, false);
    if (!status.ok()) return status;
  }
  return {};
}

// Changes the frames that meet `range`: `change` returns whether the frame keeps its page.
// Allocates nothing, since forgetting bytes must not fail.
template <typename Driver>
template <typename Change>
void Cache<Driver>::change_frames(uint64_t id, Extent range, const Change& change) {
  if (!has_frames()) return;
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
  change_frames(file.state().id, range, [&](FrameIndex f, int64_t) {
    if (dirty_too || !kind().any_dirty(state(f), page_size())) return false;
    kind().drop_clean(state(f), page_size());
    return true;
  });
}

template <typename Driver>
void Cache<Driver>::truncate(const OpenFile& file, int64_t bytes) {
  change_frames(file.state().id, {bytes, INT64_MAX - bytes}, [&](FrameIndex f, int64_t page_start) {
    if (page_start >= bytes) return false;
    kind().truncate(state(f), page_size(), bytes - page_start);
    return true;
  });
}

}  // namespace forebay
