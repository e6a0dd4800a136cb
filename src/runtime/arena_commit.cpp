// Write-back: which frames are dirty, their regions as few large requests, and forgetting pages.

#include <algorithm>
#include <cerrno>
#include <optional>

#include "engine/rules.h"
#include "runtime/arena_lock.h"
#include "runtime/clock.h"
#include "runtime/own_change.h"

namespace forebay::runtime {

// Under the frame's lock.
bool ArenaCache::meets(const Frame& frame, uint64_t file, Extent range) const {
  return frame.key.file == file &&
         !intersect({frame.key.page * page_size(), page_size()}, range).empty();
}

std::vector<FrameIndex> ArenaCache::frames_of(uint64_t file, Extent range, Which which) {
  std::vector<std::pair<int64_t, FrameIndex>> found;
  for (uint32_t s = 0; s < shape_.shards; ++s) {
    const ShardState& shard = shards_[s].state();
    const Locked lock(*this, s);
    if (shard.resident == 0) continue;
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      const Frame& frame = frames_[f];
      if (!meets(frame, file, range)) continue;
      if (which != Which::all && frame.dirty_hint.load() == 0 && frame.io != FrameIo::committing) {
        continue;
      }
      if (which == Which::full && !kind_->holds(state(f), page_size(), {0, page_size()})) continue;
      found.emplace_back(frame.key.page, f);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<FrameIndex> frames;
  frames.reserve(found.size());
  for (const auto& entry : found) frames.push_back(entry.second);
  return frames;
}

Status ArenaCache::commit(const Requester& who, Extent range) {
  if (!may_be_dirty()) return {};
  std::vector<FrameIndex> frames = frames_of(who.file->id, range, Which::dirty);
  if (frames.empty()) return {};
  // Ranks that commit at the same time begin at different places and so share the work.
  const uint32_t seats = std::max<uint32_t>(who.file->handles, 1);
  const std::size_t start = frames.size() * (who.seat % seats) / seats;
  std::rotate(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(start), frames.end());
  return commit_frames(who, std::move(frames), who.file->id, true);
}

Status ArenaCache::commit_frames(const Requester& who, std::vector<FrameIndex> frames,
                                 uint64_t file, bool wait) {
  Status result;
  CommitPlan plan;
  Committing claimed(*this, std::min(frames.size(), std::size_t{most_pages_a_plan}));
  std::vector<FrameIndex> later;
  Regions regions;
  while (!frames.empty()) {
    later.clear();
    std::size_t next = 0;
    while (next < frames.size()) {
      plan.clear();
      Storage* storage = nullptr;
      while (next < frames.size() && plan.bytes() < who.commit_size_bytes &&
             claimed.frames().size() < std::size_t{most_pages_a_plan}) {
        const FrameIndex f = frames[next++];
        Frame& frame = frames_[f];
        Locked lock(*this, f / shape_.frames_per_shard());
        if (frame.key.file != file) continue;  // committed and evicted by somebody else
        if (frame.io != FrameIo::idle) {
          later.push_back(f);
          continue;
        }
        if (frame.dirty_hint.load() == 0) continue;
        if (storage == nullptr) {
          storage = file == who.file->id && who.can_write_storage
                        ? who.storage
                        : callbacks_.find_storage(frame.file_slot, file);
          if (storage == nullptr) return {Code::access, EACCES, -1};
        }
        claimed.begin(f);
        if (kind_->lock_free()) drain(f);
        regions.clear();
        kind_->take_dirty(state(f), page_size(), regions);
        if (regions.empty()) {
          claimed.take_back();
          continue;
        }
        for (const Extent& region : regions) plan.add(f, frame.key.page * page_size(), region);
      }
      if (claimed.frames().empty()) continue;
      FileEntry& entry = registry_->files[frames_[claimed.frames().front()].file_slot];
      const Status status = write_plan(who, plan, entry, *storage);
      claimed.end(status.ok());
      if (!status.ok() && result.ok()) result = status;
    }
    if (!wait || later.empty() || !result.ok()) break;
    {
      Locked lock(*this, later.front() / shape_.frames_per_shard());
      const Frame& frame = frames_[later.front()];
      if (frame.key.file == file && frame.io != FrameIo::idle) lock.wait();
    }
    frames = later;
  }
  return result;
}

Status ArenaCache::write_plan(const Requester& who, const CommitPlan& plan, FileEntry& file,
                              Storage& storage) {
  std::vector<forebay::Segment> segments;
  segments.reserve(plan.parts().size());
  for (const CommitPlan::Part& part : plan.parts()) {
    std::byte* memory = data(part.frame) + part.in_page;
    segments.push_back({memory, part.length});
  }
  std::vector<Request> requests;
  requests.reserve(plan.runs().size());
  for (const CommitPlan::Run& run : plan.runs()) {
    requests.push_back({run.extent.offset, {segments.data() + run.first_part, run.parts}});
  }
  // A rank that began in the middle of the file has gone on at its start.
  std::sort(requests.begin(), requests.end(),
            [](const Request& a, const Request& b) { return a.offset < b.offset; });
  StorageCounters counters;
  const WorkClock clock;
  Status status;
  {
    std::optional<NotedWrite> noted;
    if (registry_->recoverable) noted.emplace(file, job_, storage, true);
    status = storage.write(requests, counters);
  }
  who.statistics->commit_ns += clock.cost_ns();
  who.statistics->write_requests += counters.requests;
  who.statistics->write_syscalls += counters.syscalls;
  if (status.ok()) who.statistics->committed_bytes += plan.bytes();
  return status;
}

// Settlemyer 7.4.1: write more than the victim when that makes one large request.
Status ArenaCache::commit_around(const Requester& who, FrameIndex victim) {
  PageKey key;
  {
    Locked lock(*this, victim / shape_.frames_per_shard());
    key = frames_[victim].key;
  }
  if (key.file == 0) return {};
  std::vector<FrameIndex> frames{victim};
  const int64_t most = pages_around_victim(who.commit_size_bytes, page_size());
  for (const int64_t direction : {int64_t{1}, int64_t{-1}}) {
    for (int64_t page = key.page + direction; static_cast<int64_t>(frames.size()) < most;
         page += direction) {
      const PageKey neighbour{key.file, page};
      Locked lock(*this, shard_of(neighbour, shape_.shards));
      const FrameIndex f = shards_[shard_of(neighbour, shape_.shards)].find(neighbour);
      if (f == no_frame || frames_[f].dirty_hint.load() == 0) break;
      frames.insert(direction > 0 ? frames.end() : frames.begin(), f);
    }
  }
  return commit_frames(who, std::move(frames), key.file, false);
}

Status ArenaCache::commit_some(const Requester& who, uint32_t target) {
  for (const Which which : {Which::full, Which::dirty}) {
    if (dirty_frames() <= target) return {};
    std::vector<FrameIndex> chosen = frames_of(who.file->id, {0, INT64_MAX}, which);
    const std::size_t surplus = dirty_frames() > target ? dirty_frames() - target : 0;
    if (chosen.size() > surplus) chosen.resize(surplus);
    const Status status = commit_frames(who, std::move(chosen), who.file->id, false);
    if (!status.ok()) return status;
  }
  return {};
}

// Needs no memory: what must be forgotten cannot wait until there is some.
template <typename Change>
void ArenaCache::change_frames(const Requester& who, Extent range, const Change& change) {
  if (!has_frames()) return;
  const uint64_t file = who.file->id;
  for (uint32_t s = 0; s < shape_.shards; ++s) {
    Locked lock(*this, s);
    const ShardState& shard = shards_[s].state();
    if (shard.resident == 0) continue;
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      const Frame& frame = frames_[f];
      while (meets(frame, file, range) && frame.io != FrameIo::idle) lock.wait();
      if (!meets(frame, file, range)) continue;
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

void ArenaCache::drop(const Requester& who, Extent range, bool dirty_too) {
  change_frames(who, range, [&](FrameIndex f, int64_t) {
    if (dirty_too || !kind_->any_dirty(state(f), page_size())) return false;
    kind_->drop_clean(state(f), page_size());
    return true;
  });
}

void ArenaCache::truncate(const Requester& who, int64_t bytes) {
  change_frames(who, {bytes, INT64_MAX - bytes}, [&](FrameIndex f, int64_t page_start) {
    if (page_start >= bytes) return false;
    kind_->truncate(state(f), page_size(), bytes - page_start);
    return true;
  });
}

}  // namespace forebay::runtime
