// Reading through the cache: claims of pages, one list of requests for what is missing, and its
// merge under bytes that are newer (Settlemyer 5.1.1.1).

#include <algorithm>
#include <cstring>

#include "engine/rules.h"
#include "runtime/arena_lock.h"

namespace forebay::runtime {

Status ArenaCache::read(const Requester& who, Extent wanted, std::byte* memory, bool whole_pages,
                        bool count_first, int64_t* got) {
  *got = 0;
  const int64_t pages = (wanted.end() - 1) / page_size() - wanted.offset / page_size() + 1;
  const int64_t most_pages = std::min(pages, pages_a_fill(shape_.frames));
  Filling claims(*this, most_pages);
  for (int64_t at = wanted.offset; at < wanted.end();) {
    claims.clear();
    const int64_t group_begin = at;
    Status status;
    while (at < wanted.end() && static_cast<int64_t>(claims.claims().size()) < most_pages) {
      const int64_t page_start = round_down(at, page_size());
      const Extent part{at, std::min(wanted.end(), page_start + page_size()) - at};
      const PageKey key = key_of(who, at / page_size());
      const Extent region{part.offset - page_start, part.length};
      bool count = at != wanted.offset || count_first;
      bool next_page = false;
      while (!next_page) {
        Locked lock(*this, shard_of(key, shape_.shards));
        FrameIndex frame;
        const bool may_wait = claims.empty();
        const Got outcome = obtain(who, lock, key, &count, may_wait, &frame, &status);
        if (outcome == Got::again) continue;
        if (outcome == Got::none) break;
        if (outcome == Got::resident) {
          if (kind_->holds(state(frame), page_size(), region)) {
            std::memcpy(memory + (at - wanted.offset), data(frame) + region.offset,
                        static_cast<std::size_t>(region.length));
            next_page = true;
            continue;
          }
          if (frames_[frame].io != FrameIo::idle) {
            if (!may_wait) break;
            lock.wait();
            continue;
          }
        }
        claims.begin({frame, page_start, outcome == Got::placed});
        next_page = true;
      }
      if (!next_page) break;
      at += part.length;
    }
    if (!status.ok() || (claims.empty() && at == group_begin)) return status;  // no frame to be had
    if (!claims.empty()) {
      const Extent group{group_begin, at - group_begin};
      int64_t group_got = 0;
      status =
          fill(who, claims, group, memory + (group_begin - wanted.offset), whole_pages, &group_got);
      if (!status.ok()) return status;
      *got = group_begin + group_got - wanted.offset;
      if (group_got < group.length) return {};  // the end of the file
    } else {
      *got = at - wanted.offset;
    }
  }
  return {};
}

bool ArenaCache::prefetch(const Requester& who, PageCursor& pages) {
  const int64_t most = pages_a_fill(shape_.frames);
  Filling claims(*this, most);
  bool frames_left = true;
  while (!pages.done() && frames_left && std::ssize(claims.claims()) < most) {
    const PageKey key = key_of(who, pages.page());
    Locked lock(*this, shard_of(key, shape_.shards));
    if (shards_[shard_of(key, shape_.shards)].find(key) == no_frame) {
      FrameIndex frame;
      Status status;
      bool count = false;
      const Got got = obtain(who, lock, key, &count, false, &frame, &status);
      if (got == Got::again) continue;
      if (got == Got::placed) claims.begin({frame, pages.page() * page_size(), true});
      frames_left = got != Got::none;
    }
    pages.advance();
  }
  int64_t ignored;
  if (!claims.empty()) {
    const Status status = fill(who, claims, {}, nullptr, true, &ignored);
    (void)status;  // a read of these bytes will meet the failure itself
  }
  return frames_left && !pages.done();
}

// What one claim fetches, and where it is read to.
struct ArenaCache::Fetch {
  Extent extent;            // in the file; empty: nothing is missing
  std::byte* memory;        // of extent.offset
  int64_t transferred = 0;  // bytes of extent that storage had
};

std::vector<ArenaCache::Fetch> ArenaCache::plan_fetches(const std::vector<Claim>& claims,
                                                        Extent wanted, bool whole_pages,
                                                        std::vector<std::byte>& staging) {
  std::vector<Fetch> fetches;
  std::size_t staged = 0;
  for (const Claim& claim : claims) staged += claim.fresh ? 0 : 1;
  staging.resize(staged * static_cast<std::size_t>(page_size()));
  std::byte* next_staging = staging.data();
  Regions gaps;
  for (const Claim& claim : claims) {
    const Extent page{claim.page_start, page_size()};
    const Extent need = fetched_of(page, wanted, whole_pages);
    if (claim.fresh) {
      fetches.push_back({need, data(claim.frame) + (need.offset - page.offset)});
      continue;
    }
    const Locked lock(*this, claim.frame / shape_.frames_per_shard());  // writers go on meanwhile
    gaps.clear();
    kind_->missing(state(claim.frame), page_size(), {need.offset - page.offset, need.length}, gaps);
    Extent hull{need.offset, 0};
    if (!gaps.empty()) {
      hull = {page.offset + gaps.front().offset, gaps.back().end() - gaps.front().offset};
    }
    fetches.push_back({hull, next_staging + (hull.offset - page.offset)});
    next_staging += page_size();
  }
  return fetches;
}

Status ArenaCache::fetch(const Requester& who, std::vector<Fetch>& fetches) {
  std::vector<forebay::Segment> segments;
  std::vector<Request> requests;
  std::vector<std::size_t> first_fetch;
  segments.reserve(fetches.size());  // requests hold spans into it
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const Fetch& f = fetches[i];
    if (f.extent.empty()) continue;
    segments.push_back({f.memory, f.extent.length});
    const forebay::Segment* last = &segments.back();
    if (!requests.empty()) {
      Request& previous = requests.back();
      int64_t end = previous.offset;
      for (const auto& s : previous.segments) end += s.length;
      if (end == f.extent.offset) {
        previous.segments = {previous.segments.data(), previous.segments.size() + 1};
        continue;
      }
    }
    requests.push_back({f.extent.offset, {last, 1}});
    first_fetch.push_back(i);
  }
  if (requests.empty()) return {};
  std::vector<int64_t> transferred(requests.size());
  StorageCounters counters;
  const Status status = who.storage->read(requests, transferred, counters);
  who.statistics->read_requests += counters.requests;
  who.statistics->read_syscalls += counters.syscalls;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    int64_t left = transferred[r];
    who.statistics->fetched_bytes += left;
    const std::size_t end = r + 1 < requests.size() ? first_fetch[r + 1] : fetches.size();
    for (std::size_t i = first_fetch[r]; i < end; ++i) {
      fetches[i].transferred = std::min(left, fetches[i].extent.length);
      left -= fetches[i].transferred;
    }
  }
  return status;
}

// Holes between storage's end and the end that readers see are zeros.
Status ArenaCache::zero_holes(const Requester& who, std::vector<Fetch>& fetches, int64_t* end) {
  *end = INT64_MAX;
  const bool short_read = std::any_of(fetches.begin(), fetches.end(), [](const Fetch& f) {
    return f.transferred < f.extent.length;
  });
  if (!short_read) return {};
  int64_t size;
  if (const Status status = who.storage->size(&size); !status.ok()) return status;
  *end = std::max(size, written_end(who));
  for (Fetch& f : fetches) {
    const int64_t known = std::clamp<int64_t>(*end - f.extent.offset, 0, f.extent.length);
    if (known <= f.transferred) continue;
    std::memset(f.memory + f.transferred, 0, static_cast<std::size_t>(known - f.transferred));
    f.transferred = known;
  }
  return {};
}

Status ArenaCache::fill(const Requester& who, Filling& filling, Extent wanted, std::byte* memory,
                        bool whole_pages, int64_t* got) {
  const std::vector<Claim>& claims = filling.claims();
  const uint64_t direct_writes = who.file->direct_writes.load(std::memory_order_seq_cst);
  bool keep = who.file->direct_writers.load(std::memory_order_seq_cst) == 0;
  for (const Claim& claim : claims) populate(claim.frame);
  std::vector<std::byte> staging;
  std::vector<Fetch> fetches = plan_fetches(claims, wanted, whole_pages, staging);
  Status status = fetch(who, fetches);
  int64_t end = INT64_MAX;
  if (status.ok()) status = zero_holes(who, fetches, &end);
  keep = keep && who.file->direct_writers.load() == 0 &&
         who.file->direct_writes.load() == direct_writes;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Claim& claim = claims[i];
    Locked lock(*this, claim.frame / shape_.frames_per_shard());
    if (status.ok()) {
      install(claim, fetches[i]);
      const Extent part = intersect({claim.page_start, page_size()},
                                    {wanted.offset, std::min(wanted.end(), end) - wanted.offset});
      if (!part.empty()) {
        std::memcpy(memory + (part.offset - wanted.offset),
                    data(claim.frame) + (part.offset - claim.page_start),
                    static_cast<std::size_t>(part.length));
      }
    }
    filling.end_next();
    if (claim.fresh) {
      if (status.ok() && keep && fetches[i].transferred > 0) {
        open_frame(claim.frame);
      } else {
        release_frame(claim.frame);
      }
    } else if (status.ok() && !keep) {
      close_frame(claim.frame);
      kind_->drop_clean(state(claim.frame), page_size());
      open_frame(claim.frame);
    }
    lock.signal_when_done();
  }
  *got = std::clamp<int64_t>(std::min(wanted.end(), end) - wanted.offset, 0, wanted.length);
  return status;
}

// Merges what was fetched into the page, under bytes that are newer. Under the shard's lock.
void ArenaCache::install(const Claim& claim, const Fetch& fetched) {
  const Extent region{fetched.extent.offset - claim.page_start, fetched.transferred};
  if (region.empty()) return;
  void* page = state(claim.frame);
  if (claim.fresh) {
    kind_->fill(page, page_size(), region);
    return;
  }
  const Closed closed(*this, claim.frame);
  Regions gaps;
  kind_->missing(page, page_size(), region, gaps);
  for (const Extent& gap : gaps) {
    std::memcpy(data(claim.frame) + gap.offset, fetched.memory + (gap.offset - region.offset),
                static_cast<std::size_t>(gap.length));
    kind_->fill(page, page_size(), gap);
  }
}

}  // namespace forebay::runtime
