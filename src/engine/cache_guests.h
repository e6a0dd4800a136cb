// Guests: dirty bytes of pages that another node owns. They are handed over as lists, like commits
// whose storage is their owner.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "engine/cache.h"

namespace forebay {

// A node's guests of one file, claimed, one list for each node. Lists that are not settled at the
// end are dirty again.
template <typename Driver>
class Cache<Driver>::Guests {
 public:
  Guests(Cache& cache, uint32_t nodes) : cache_(cache), rests_(nodes) {
    for (uint32_t node = 0; node < nodes; ++node)
      lists_.emplace_back(cache).reserve(std::size_t{most_pages_a_plan});
  }

  // Claims the file's dirty pages that others own, in their order in the file, as far as the lists
  // have room. Pages whose I/O is under way are left to it. If the status is a failure, what was
  // claimed stays claimed. `share`: at most one in so many of a shard's frames.
  Status claim(OpenFile& file, const FileDomains& domains, uint32_t self, uint32_t share = 1) {
    std::ranges::fill(rests_, INT64_MAX);
    const uint64_t id = file.state().id;
    std::vector<uint32_t> claimed(cache_.arena_.shards());
    Status status;
    for (const auto& [page, f] : cache_.dirty_pages(id)) {
      const uint32_t owner = domains.owner_of(page * cache_.page_size());
      if (owner == self) continue;
      const uint32_t shard = cache_.shard_number(f);
      const Locked lock(cache_, shard);
      const Frame& frame = cache_.frame(f);
      if (!(frame.key == PageKey{id, page}) || frame.io != FrameIo::idle) continue;
      Committing& list = lists_[owner];
      if (list.bytes() >= most_guest_bytes / std::ssize(lists_) ||
          list.frames() == std::size_t{most_pages_a_plan} ||
          claimed[shard] >= cache_.arena_.shard(shard).state().usable / share) {
        rests_[owner] = std::min(rests_[owner], page * cache_.page_size());
      } else if (list.add(file, f, &status)) {
        ++claimed[shard];
      } else if (!status.ok()) {
        break;
      }
    }
    for (Committing& list : lists_) list.sort();
    return status;
  }
  // The bytes for a node, by file offset.
  const IoPlan& plan(uint32_t node) const { return lists_[node].plan(); }
  // The offset of the first page that a node's list had no room for; INT64_MAX: there is none.
  int64_t rest(uint32_t node) const { return rests_[node]; }
  // taken: the node answers for the bytes; otherwise they are dirty again.
  void settle(uint32_t node, bool taken) { lists_[node].settle(taken); }

 private:
  Cache& cache_;
  std::vector<int64_t> rests_;
  std::deque<Committing> lists_;
};

template <typename Driver>
std::vector<std::pair<int64_t, FrameIndex>> Cache<Driver>::dirty_pages(uint64_t file) {
  return pages_where([&](FrameIndex f) {
    return frame(f).key.file == file && (frame(f).may_be_dirty() || commits(frame(f)));
  });
}

template <typename Driver>
Status Cache<Driver>::commit_guests(OpenFile& file, Extent range, const FileDomains& domains,
                                    uint32_t self) {
  if (!may_be_dirty()) return {};
  std::vector<FrameIndex> frames;
  for (const auto& [page, f] : dirty_pages(file.state().id)) {
    const Extent bytes{page * page_size(), page_size()};
    if (domains.owner_of(bytes.offset) != self && !intersect(bytes, range).empty())
      frames.push_back(f);
  }
  if (frames.empty()) return {};
  return commit_frames(file, std::move(frames), file.state().id, true);
}

// Lists of dirty pages and of received runs, by file offset: what touches leaves as one request.
template <typename Driver>
template <typename Messages>
Status Cache<Driver>::commit_domain(OpenFile& file, const FileDomains& domains, uint32_t self,
                                    int64_t complete_before, std::span<const Received> received,
                                    const Messages& messages) {
  const uint64_t id = file.state().id;
  Committing list(*this);
  list.reserve(std::size_t{most_pages_a_plan});
  Status status;
  const auto pages =
      may_be_dirty() ? dirty_pages(id) : std::vector<std::pair<int64_t, FrameIndex>>{};
  for (auto page = pages.begin(); status.ok() && (page != pages.end() || !received.empty());) {
    int64_t bytes = 0;
    // Whatever comes first in the file, until the list is full.
    std::size_t runs = 0;
    while (status.ok() && list.bytes() + bytes < file.commit_size_bytes() &&
           list.frames() < std::size_t{most_pages_a_plan}) {
      const bool run_is_next =
          runs < received.size() &&
          (page == pages.end() || received[runs].extent.offset < (page->first + 1) * page_size());
      if (run_is_next) {
        bytes += received[runs++].extent.length;
      } else if (page != pages.end()) {
        const auto [number, f] = *page++;
        const int64_t begin = number * page_size();
        if (begin >= complete_before || domains.owner_of(begin) != self) continue;
        const Locked lock(*this, shard_number(f));
        if (frame(f).key == PageKey{id, number} && frame(f).io == FrameIo::idle)
          static_cast<void>(list.add(file, f, &status));
      } else {
        break;
      }
    }
    if (status.ok()) status = list.write(file, received.first(runs), messages);
    received = received.subspan(runs);
  }
  return status;
}

template <typename Driver>
Extent Cache<Driver>::dirty_region(const OpenFile& file) {
  const auto pages = dirty_pages(file.state().id);
  if (pages.empty()) return {};
  const int64_t begin = pages.front().first * page_size();
  return {begin, (pages.back().first + 1) * page_size() - begin};
}

}  // namespace forebay
