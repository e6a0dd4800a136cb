// A run that is written: into the page of the run before, into other pages, or past the cache.
// Pages that wait for the frames of dirty victims are written once all victims of the access have
// been committed together. Then write-behind.
#pragma once

#include "engine/cache_handle.h"

namespace forebay {

template <typename Driver>
template <typename Source>
inline bool CacheHandle<Driver>::write_translated(Extent part, Source source) {
  const Translation<Driver>& t = translation_;
  const int64_t in_page = part.offset - t.page_start;
  if (in_page < 0 || part.length > t.length - in_page) return false;
  file_.begin_use(t.use);
  const bool current = t.frame->tag.load(std::memory_order_seq_cst) == t.tag;
  if (current) {
    if constexpr (!std::is_same_v<Source, NoBytes>)
      Driver::copy_in(t.bytes, {in_page, part.length}, source);
    cache_.kind().publish(t.state, t.length, {in_page, part.length});
    if ((t.frame->writers.load(std::memory_order_seq_cst) & file_.writer()) == 0)
      cache_.note_dirty(*t.frame, file_.writer());
  }
  file_.end_use();
  return current;
}

template <typename Driver>
template <typename Source>
inline Status CacheHandle<Driver>::write_run(Extent extent, Source source, int64_t at) {
  statistics().write_bytes += extent.length;
  if (extent.empty()) return {};
  if (told_ && writes_.calls_until_sample-- == 0)
    return within_memory([&] { return write_sampled(extent, source, at); });
  if (write_translated(extent, source + at)) {
    raise_end(extent.end());
    return {};
  }
  return within_memory([&] { return write_untranslated(extent, source, at); });
}

template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write_untranslated(Extent extent, Source source, int64_t at) {
  const bool past = told_ ? bypasses(extent.length) || stays_aside(writes_, extent) ||
                                bypasses_locally(writes_, extent)
                          : writes_through();
  if (past) return write_past(extent, source, at);
  const int64_t page_size = cache_.page_size();
  for (Extent rest = extent; !rest.empty();) {
    const int64_t page_end = (rest.offset / page_size + 1) * page_size;
    const Extent part{rest.offset, std::min(rest.end(), page_end) - rest.offset};
    const Status status = write_part(part, source, at + (part.offset - extent.offset));
    if (!status.ok()) return status;
    rest = {part.end(), rest.end() - part.end()};
  }
  return {};
}

// A part lies within one page. It is written now, or waits for the frame of a dirty victim.
template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write_part(Extent part, Source source, int64_t at) {
  using Got = typename Cache<Driver>::Got;
  bool count = !continues_page(part.offset);
  const Status status = within_memory([&] {
    waiting_.reserve(waiting_.size() + 1);
    if (evictions_.awaits(file_, last_page_)) {
      waiting_.push_back({part, at, false, -1});
      return Status::success();
    }
    for (;;) {
      Got got;
      Status placed = write_page(part, source, at, &count, &got);
      if (!placed.ok() || got == Got::resident) return placed;
      if (got == Got::leaving) {
        waiting_.push_back({part, at, count, evictions_.size() - 1});
        return placed;
      }
      placed = write_waiting(source);
      if (!placed.ok()) return placed;
    }
  });
  if (status.code == Code::no_memory) {
    no_page();
    return write_past(part, source, at);
  }
  if (!status.ok()) return status;
  const Status ignored = within_memory([this] { return write_behind(); });
  (void)ignored;  // the bytes stay dirty: sync and close meet the failure and report it
  return {};
}

// *got: resident (the part is written), leaving or none.
template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write_page(Extent part, Source source, int64_t at, bool* count,
                                       typename Cache<Driver>::Got* got) {
  *got = Cache<Driver>::Got::resident;
  Status status;
  if constexpr (std::is_same_v<Source, Touch>) {
    Translation<Driver> ignored;
    status = cache_.page_for_write(file_, part, count, evictions_, &ignored, got);
  } else {
    if (cache_.kind().lock_free()) {
      while (status.ok() && *got == Cache<Driver>::Got::resident) {
        if (write_translated(part, source + at)) break;
        status = cache_.page_for_write(file_, part, count, evictions_, &translation_, got);
      }
    } else {
      status = cache_.write_locked(file_, part, source + at, count, evictions_, got);
    }
    if (status.ok() && *got == Cache<Driver>::Got::resident) raise_end(part.end());
  }
  return status;
}

// Commits the victims of the access, and writes the parts that waited for their frames. After a
// failure the parts that are not written still wait.
template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::evict_and_write(Source source) {
  using Got = typename Cache<Driver>::Got;
  while (!waiting_.empty()) {
    if (!evictions_.empty()) {
      const Status status = cache_.evict(file_, evictions_);
      if (!status.ok()) return status;
    }
    for (Waiting& waiting : waiting_) {
      if (waiting.nth >= 0 && evictions_.placed(waiting.nth)) waiting.count = false;
      waiting.nth = -1;
    }
    evictions_.clear();
    ready_.clear();
    ready_.reserve(waiting_.size());  // what still waits afterwards has room, too
    ready_.swap(waiting_);
    std::size_t done = 0;
    Status status;
    for (; status.ok() && done < ready_.size(); ++done) {
      Waiting& next = ready_[done];
      if (evictions_.awaits(file_, next.part.offset / cache_.page_size())) {
        waiting_.push_back(next);
        continue;
      }
      Got got = Got::none;
      status =
          within_memory([&] { return write_page(next.part, source, next.at, &next.count, &got); });
      if (!status.ok() || got == Got::none) break;
      if (got == Got::leaving) {
        next.nth = evictions_.size() - 1;
        waiting_.push_back(next);
      }
    }
    waiting_.insert(waiting_.end(), ready_.begin() + static_cast<std::ptrdiff_t>(done),
                    ready_.end());
    if (!status.ok()) return status;
  }
  return {};
}

// The same, where memory may be refused: parts for which there is none go past the cache.
template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write_waiting(Source source) {
  if (waiting_.empty()) return {};
  Status status = within_memory([&] { return evict_and_write(source); });
  if (status.code == Code::no_memory) {
    no_page();
    evictions_.clear();
    for (status = {}; status.ok() && !waiting_.empty();) {
      const Waiting& last = waiting_.back();
      status = within_memory([&] { return write_past_now(last.part, source + last.at, nullptr); });
      if (status.ok()) waiting_.pop_back();
    }
  }
  // Only the page of the last access may be used without asking the policy.
  if (translation_.page_start != last_page_ * cache_.page_size()) translation_ = {};
  return status;
}

// Ends a write some of whose parts wait. `status`: what the other parts met; after a failure
// nothing more is written.
template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::end_write(Status status, Source source, int64_t* moved) {
  if (status.ok()) {
    status = write_waiting(source);
    const Status ignored = within_memory([this] { return write_behind(); });
    (void)ignored;  // as in write_part()
  }
  for (const Waiting& left : waiting_) *moved = std::min(*moved, left.at);
  evictions_.clear();
  waiting_.clear();
  return status;
}

// Write-behind begins in the background at half the dirty bound; at the bound writers take part, so
// that they cannot outrun storage for long.
template <typename Driver>
Status CacheHandle<Driver>::write_behind() {
  if (!rules_.write_behind) return {};
  const DirtyBound bound(rules_.dirty_bound, cache_.frames());
  const uint32_t dirty = cache_.dirty_frames();
  if (dirty <= bound.begin()) {
    next_look_ = 0;
    return {};
  }
  must_keep_up_ = true;
  if (rules_.deterministic) return cache_.commit_some(file_, {bound.begin()});
  const SharesPages sharing =
      collective_ ? SharesPages::no : shared().shares_pages.load(std::memory_order_relaxed);
  Partial partial = Partial::commit;
  if (sharing == SharesPages::unknown) partial = Partial::leave_shared;
  if (sharing == SharesPages::yes || rules_.hands_over) partial = Partial::leave;
  if (partial == Partial::leave) {
    if (dirty < next_look_) return {};
    next_look_ = dirty + frames_between_looks(cache_.frames());
  }
  if (dirty <= bound.most()) {
    file_.commit_in_background({bound.background(), partial});
    return {};
  }
  const Status status = cache_.commit_some(file_, {bound.begin(), partial});
  if (cache_.dirty_frames() < dirty) partial_in_turn_ = 0;
  const bool waits =
      sharing == SharesPages::yes && !rules_.hands_over && cache_.dirty_frames() > bound.most();
  return status.ok() && waits ? write_behind_together(bound) : status;
}

template <typename Driver>
void CacheHandle<Driver>::look_for_stragglers() {
  file_.ends_of_others(others_);
  stragglers_.look(file_.own_end(), others_);
}

// Too many pages are dirty. They lack bytes, which other handles may be about to write.
template <typename Driver>
Status CacheHandle<Driver>::write_behind_together(const DirtyBound& bound) {
  if (!evictions_.empty() || !waiting_.empty()) return {};  // whoever waits holds nothing
  const int64_t distance = pace_bytes(rules_.dirty_bound, cache_.frames(), cache_.page_size());
  look_for_stragglers();
  uint32_t goal = bound.most() - bound.most() / 8;
  if (!stragglers_.apart(distance)) {
    // Near each other, handles leave pages without all bytes: those that all have passed, which a
    // handle that was far behind may have left, and others if these do not suffice.
    constexpr uint32_t a_few = 4;
    const Status status = cache_.commit_some(file_, {goal, Partial::commit, stragglers_.slowest()});
    const bool suffices = cache_.dirty_frames() <= bound.most();
    if (!suffices || ++partial_in_turn_ > a_few) shared().shares_pages.store(SharesPages::no);
    if (!status.ok() || suffices) return status;
  } else if (!stragglers_.ahead(distance)) {
    return {};
  } else {
    bool near = false;
    const Status status = await_stragglers(bound, distance, &near);
    if (!status.ok() || cache_.dirty_frames() <= bound.most()) return status;
    if (!near) goal = bound.begin();
  }
  return cache_.commit_some(file_, {goal});
}

// Pages that leave without a slow handle's bytes cost a request for each run of their bytes, and
// then as many for the slow handle's.
template <typename Driver>
int64_t CacheHandle<Driver>::worth_a_wait_ns(uint32_t frames) {
  constexpr int64_t least = 50'000'000;  // a handle may have lost its processor for so long
  constexpr int64_t most = 1'000'000'000;
  const PartialPages partial = cache_.partial_pages(file_);
  const double runs_a_page = static_cast<double>(partial.runs) / std::max(partial.pages, 1U);
  return std::clamp(static_cast<int64_t>(commit_ns_per_request() * runs_a_page * frames), least,
                    most);
}

// Waits until the slowest handle is near, but no longer than it takes to commit the pages that must
// leave without its bytes otherwise. Commits what becomes complete meanwhile.
template <typename Driver>
Status CacheHandle<Driver>::await_stragglers(const DirtyBound& bound, int64_t distance,
                                             bool* near) {
  ++statistics().pace_waits;
  const int64_t end = Driver::now_ns() + worth_a_wait_ns(bound.most() - bound.begin());
  stragglers_.begin_wait(others_);
  for (;;) {
    file_.pause();
    const Status status = cache_.commit_some(file_, {bound.begin(), Partial::leave});
    look_for_stragglers();
    *near = !stragglers_.ahead(distance / 2);
    if (*near || !status.ok()) return status;
    if (Driver::now_ns() >= end) break;
  }
  stragglers_.end_wait(others_);
  return {};
}

template <typename Driver>
void CacheHandle<Driver>::no_page() {
  count_call(&Statistics::no_page_calls, no_page_counted_);
  file_.tell_of_memory();
}

}  // namespace forebay
