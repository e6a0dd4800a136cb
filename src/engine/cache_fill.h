// Reading through the cache: pages are claimed, missing bytes are fetched with one list of
// requests, and are merged under bytes that are newer (Settlemyer 5.1.1.1).
#pragma once

#include <algorithm>

#include "engine/cache.h"

namespace forebay {

template <typename Driver>
template <typename Target>
Status Cache<Driver>::read(OpenFile& file, Extent wanted, Target target, bool whole_pages,
                           int64_t counted_end, int64_t* got) {
  *got = 0;
  const int64_t pages = (wanted.end() - 1) / page_size() - wanted.offset / page_size() + 1;
  const int64_t most_pages = std::min(pages, pages_a_fill(frames()));
  Filling claims(*this, most_pages);
  Evictions evictions(*this);
  std::vector<int64_t> uncounted;  // pages before counted_end that have got no frame
  for (int64_t at = wanted.offset; at < wanted.end();) {
    claims.clear();
    evictions.clear();
    const int64_t group_begin = at;
    Status status;
    while (at < wanted.end() && std::ssize(claims.claims()) + evictions.size() < most_pages) {
      const int64_t page_start = round_down(at, page_size());
      const Extent part{at, std::min(wanted.end(), page_start + page_size()) - at};
      const PageKey key = key_of(file, at / page_size());
      const Extent region{part.offset - page_start, part.length};
      const auto skipped = std::ranges::find(uncounted, key.page);
      bool count = at >= counted_end || skipped != uncounted.end();
      bool next_page = false;
      while (!next_page) {
        Locked lock(*this, shard_number(key));
        FrameIndex index;
        const bool may_wait = claims.empty() && evictions.empty();
        const Got outcome = obtain(file, lock, key, &count, may_wait, &evictions, &index, &status);
        if (outcome == Got::again) continue;
        if (outcome == Got::none) break;
        if (outcome == Got::leaving) {
          next_page = true;
          continue;
        }
        if (outcome == Got::resident) {
          if (kind().holds(state(index), page_size(), region)) {
            copy_out(index, region, target + (at - wanted.offset));
            next_page = true;
            continue;
          }
          if (frame(index).io != FrameIo::idle) {
            if (!may_wait) break;
            lock.wait();
            continue;
          }
        }
        claims.begin({index, page_start, outcome == Got::placed});
        next_page = true;
      }
      if (next_page || !count) counted_end = std::max(counted_end, part.end());
      if (!count && skipped != uncounted.end()) uncounted.erase(skipped);
      if (!next_page) break;
      at += part.length;
    }
    if (!status.ok() || (claims.empty() && at == group_begin)) return status;  // there is no frame
    if (!evictions.empty()) {
      status = evict(file, evictions, [&](PageKey page, FrameIndex index) {
        claims.begin({index, page.page * page_size(), true});
      });
      if (!status.ok()) return status;
      at = std::clamp(evictions.first_unplaced(), group_begin, at);
      evictions.uncounted(uncounted);
      claims.sort();
    }
    if (!claims.empty()) {
      const Extent group{group_begin, at - group_begin};
      int64_t group_got = 0;
      status = fill(file, claims, group, target + (group_begin - wanted.offset), whole_pages,
                    &group_got);
      if (!status.ok()) return status;
      *got = group_begin + group_got - wanted.offset;
      if (group_got < group.length) return {};  // the end of the file
    } else {
      *got = at - wanted.offset;
    }
  }
  return {};
}

template <typename Driver>
bool Cache<Driver>::has_frames(const OpenFile& file, PageCursor pages) {
  for (; !pages.done(); pages.advance()) {
    const PageKey key = key_of(file, pages.page());
    const Locked lock(*this, shard_number(key));
    if (arena_.shard(shard_number(key)).find(key) == no_frame) return false;
  }
  return true;
}

template <typename Driver>
bool Cache<Driver>::prefetch(OpenFile& file, PageCursor& pages) {
  const int64_t most = pages_a_fill(frames());
  Filling claims(*this, most);
  bool frames_left = true;
  while (!pages.done() && frames_left && std::ssize(claims.claims()) < most) {
    const PageKey key = key_of(file, pages.page());
    Locked lock(*this, shard_number(key));
    if (arena_.shard(shard_number(key)).find(key) == no_frame) {
      FrameIndex index;
      Status status;
      bool count = false;
      const Got got = obtain(file, lock, key, &count, false, nullptr, &index, &status);
      if (got == Got::again) continue;
      if (got == Got::placed) {
        claims.begin({index, pages.page() * page_size(), true});
        frame(index).ahead = Ahead::unused;
      }
      frames_left = got != Got::none;
    }
    pages.advance();
  }
  int64_t ignored;
  if (!claims.empty()) {
    const Status status = fill(file, claims, {}, NoBytes{}, true, &ignored);
    (void)status;  // a read of these bytes will meet the failure itself
  }
  return frames_left && !pages.done();
}

// Plans what is fetched for each claim, and whether into its frame or beside it.
template <typename Driver>
std::vector<typename Cache<Driver>::Fetch> Cache<Driver>::plan_fetches(
    const OpenFile& file, const std::vector<Claim>& claims, Extent wanted, bool whole_pages) {
  std::vector<Fetch> fetches;
  fetches.reserve(claims.size());
  uint32_t staged = 0;
  Regions gaps;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Claim& claim = claims[i];
    const Extent page{claim.page_start, page_size()};
    const Extent need = fetched_of(page, wanted, whole_pages);
    if (claim.fresh) {
      fetches.push_back({i, need});
      continue;
    }
    const Locked lock(*this, shard_number(claim.frame));  // others may be writing to the page
    gaps.clear();
    kind().missing(state(claim.frame), page_size(), {need.offset - page.offset, need.length}, gaps);
    const std::size_t first_of_claim = fetches.size();
    for (const Extent& gap : gaps) {
      const Extent part{page.offset + gap.offset, gap.length};
      if (fetches.size() > first_of_claim &&
          part.offset - fetches.back().extent.end() < file.bytes_worth_a_request()) {
        fetches.back().extent.length = part.end() - fetches.back().extent.offset;
      } else {
        fetches.push_back({i, part, staged});
      }
    }
    ++staged;
  }
  return fetches;
}

template <typename Driver>
Status Cache<Driver>::fetch(OpenFile& file, const std::vector<Claim>& claims,
                            typename Driver::Staging& staging, std::vector<Fetch>& fetches) {
  IoPlan plan;
  for (const Fetch& f : fetches) {
    const Claim& claim = claims[f.claim];
    plan.add(claim.frame, claim.page_start, {f.extent.offset - claim.page_start, f.extent.length},
             f.staged);
  }
  if (plan.empty()) return {};
  typename Driver::Transfer transfer;
  driver_.begin_read(file, plan, staging, transfer);
  const Status status = driver_.complete(transfer, file.statistics());
  auto fetched = fetches.begin();
  for (std::size_t r = 0; r < plan.runs().size(); ++r) {
    int64_t left = transfer.transferred(r);
    file.statistics().fetched_bytes += left;
    for (uint32_t part = 0; part < plan.runs()[r].parts; ++part, ++fetched) {
      fetched->transferred = std::min(left, fetched->extent.length);
      left -= fetched->transferred;
    }
  }
  return status;
}

// Fills holes with zeros: bytes beyond storage's end and before the end that readers see.
template <typename Driver>
Status Cache<Driver>::zero_holes(OpenFile& file, const std::vector<Claim>& claims,
                                 typename Driver::Staging& staging, std::vector<Fetch>& fetches,
                                 int64_t* end) {
  *end = INT64_MAX;
  const bool short_read = std::any_of(fetches.begin(), fetches.end(), [](const Fetch& f) {
    return f.transferred < f.extent.length;
  });
  if (!short_read) return {};
  int64_t size;
  if (const Status status = file.storage_size(&size); !status.ok()) return status;
  *end = std::max(size, file.written_end());
  for (Fetch& f : fetches) {
    const Claim& claim = claims[f.claim];
    const int64_t known = std::clamp<int64_t>(*end - f.extent.offset, 0, f.extent.length);
    if (known <= f.transferred) continue;
    driver_.zero(staging, {claim.frame, f.extent.offset + f.transferred - claim.page_start,
                           known - f.transferred, f.staged});
    f.transferred = known;
  }
  return {};
}

template <typename Driver>
template <typename Target>
Status Cache<Driver>::fill(OpenFile& file, Filling& filling, Extent wanted, Target target,
                           bool whole_pages, int64_t* got) {
  const std::vector<Claim>& claims = filling.claims();
  const FileState& shared = file.state();
  const uint64_t direct_writes = shared.direct_writes.load(std::memory_order_seq_cst);
  bool keep = shared.direct_writers.load(std::memory_order_seq_cst) == 0;
  for (const Claim& claim : claims) driver_.populate(claim.frame);
  const auto staged =
      std::count_if(claims.begin(), claims.end(), [](const Claim& claim) { return !claim.fresh; });
  typename Driver::Staging staging(driver_, static_cast<uint32_t>(staged));
  std::vector<Fetch> fetches = plan_fetches(file, claims, wanted, whole_pages);
  Status status = fetch(file, claims, staging, fetches);
  for (const Fetch& f : fetches)
    file.statistics().read_storage_bytes +=
        intersect({f.extent.offset, f.transferred}, wanted).length;
  int64_t end = INT64_MAX;
  if (status.ok()) status = zero_holes(file, claims, staging, fetches, &end);
  keep = keep && shared.direct_writers.load() == 0 && shared.direct_writes.load() == direct_writes;
  auto next = fetches.cbegin();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Claim& claim = claims[i];
    Locked lock(*this, shard_number(claim.frame));
    bool has_bytes = false;
    for (; status.ok() && next != fetches.cend() && next->claim == i; ++next) {
      install(claim, *next, staging);
      has_bytes = has_bytes || next->transferred > 0;
    }
    if (status.ok()) {
      const Extent part = intersect({claim.page_start, page_size()},
                                    {wanted.offset, std::min(wanted.end(), end) - wanted.offset});
      if (!part.empty()) {
        copy_out(claim.frame, {part.offset - claim.page_start, part.length},
                 target + (part.offset - wanted.offset));
      }
    }
    filling.end_next();
    if (claim.fresh) {
      if (has_bytes && keep) {
        count_ahead(file, claim.frame);
        open_frame(claim.frame);
      } else {
        release_frame(claim.frame);
      }
    } else if (status.ok() && !keep) {
      close_frame(claim.frame);
      kind().drop_clean(state(claim.frame), page_size());
      open_frame(claim.frame);
    }
    lock.signal_when_done();
  }
  *got = std::clamp<int64_t>(std::min(wanted.end(), end) - wanted.offset, 0, wanted.length);
  return status;
}

// Counts the frame's page, if it was fetched ahead, and its use, if somebody waits for it.
template <typename Driver>
void Cache<Driver>::count_ahead(OpenFile& file, FrameIndex index) const {
  Frame& page = frame(index);
  if (page.ahead == Ahead::no) return;
  Statistics& statistics = file.statistics();
  ++statistics.ahead_pages;
  if (page.ahead == Ahead::unused) return;
  page.ahead = Ahead::no;
  ++statistics.ahead_used_pages;
  ++statistics.ahead_late_pages;
}

// Merges the fetched bytes into the page, without replacing bytes that are newer. Under the shard's
// lock.
template <typename Driver>
void Cache<Driver>::install(const Claim& claim, const Fetch& fetched,
                            typename Driver::Staging& staging) {
  const Extent region{fetched.extent.offset - claim.page_start, fetched.transferred};
  if (region.empty()) return;
  void* page = state(claim.frame);
  if (claim.fresh) {
    kind().fill(page, page_size(), region);
    return;
  }
  const Closed closed(*this, claim.frame);
  Regions gaps;
  kind().missing(page, page_size(), region, gaps);
  for (const Extent& gap : gaps) {
    driver_.copy_staged(staging, fetched.staged, claim.frame, gap);
    kind().fill(page, page_size(), gap);
  }
}

}  // namespace forebay
