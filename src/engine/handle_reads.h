// A run that is read: out of the page of the run before, out of other pages, which are filled, or
// past the cache. Then what follows it is fetched ahead.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "engine/cache_handle.h"

namespace forebay {

template <typename Driver>
template <typename Target>
inline bool CacheHandle<Driver>::read_translated(Extent part, Target target) {
  const Translation<Driver>& t = translation_;
  const int64_t in_page = part.offset - t.page_start;
  if (in_page < 0 || part.length > t.length - in_page) return false;
  file_.begin_use(t.use);
  const bool held = t.frame->tag.load(std::memory_order_seq_cst) == t.tag &&
                    cache_.kind().holds(t.state, t.length, {in_page, part.length});
  if constexpr (!std::is_same_v<Target, NoBytes>) {
    if (held) Driver::copy_out(t.bytes, {in_page, part.length}, target);
  }
  file_.end_use();
  return held;
}

// Reads runs of an access that lie on the page of the run before, with one use of it. Stops before
// a run whose read the measurement or the predictor must see. Returns the bytes read.
template <typename Driver>
template <typename Target>
int64_t CacheHandle<Driver>::read_next_runs(AccessRuns& runs, Target target) {
  constexpr int64_t most_bytes_a_use = 64 << 10;  // whoever closes the frame waits for the use
  const Translation<Driver>& t = translation_;
  const int64_t most_runs = std::min<int64_t>(
      reads_.calls_until_sample, predictor_ ? predictor_->rests() : reads_.calls_until_sample);
  if (most_runs == 0 || t.length == 0) return 0;
  int64_t bytes = 0, count = 0;
  file_.begin_use(t.use);
  if (t.frame->tag.load(std::memory_order_seq_cst) == t.tag) {
    while (count < most_runs && bytes < most_bytes_a_use && !runs.done()) {
      const Extent run = runs.next();
      const Extent in_page{run.offset - t.page_start, run.length};
      if (in_page.offset < 0 || in_page.length > t.length - in_page.offset ||
          !cache_.kind().holds(t.state, t.length, in_page)) {
        runs.put_back(run);
        break;
      }
      if constexpr (!std::is_same_v<Target, NoBytes>)
        Driver::copy_out(t.bytes, in_page, target + bytes);
      bytes += run.length;
      ++count;
    }
  }
  file_.end_use();
  reads_.calls_until_sample -= static_cast<uint32_t>(count);
  if (predictor_) predictor_->rested(count, bytes);
  statistics().read_bytes += bytes;
  return bytes;
}

template <typename Driver>
template <typename Target>
inline Status CacheHandle<Driver>::read_run(Extent extent, Target target, int64_t* got) {
  *got = 0;
  if (extent.empty()) return {};
  Status status;
  if (told_ && reads_.calls_until_sample-- == 0) {
    status = within_memory([&] { return read_sampled(extent, target, got); });
  } else if (read_translated(extent, target)) {
    *got = extent.length;
  } else {
    status = within_memory([&] { return read_untranslated(extent, target, got); });
  }
  if (!status.ok()) *got = 0;
  if (*got > 0 && is_foreseen(extent)) {
    const Status ahead = within_memory([&] { return look_ahead(extent); });
    // A read of these bytes will meet the failure itself.
    if (ahead.code == Code::no_memory) drop_predictor();
  }
  statistics().read_bytes += *got;
  return status;
}

// Whether what follows such a read may be fetched ahead. Not for reads that go past the cache,
// which would not find it there, but for long ones on storage where it is worth it.
template <typename Driver>
bool CacheHandle<Driver>::is_foreseen(Extent extent) const {
  if (extent.offset >= noted_read_.offset && extent.end() <= noted_read_.end()) return false;
  if (reads_.local.takes(extent.length) || is_aside(reads_)) return false;
  return !bypasses(extent.length) || long_reads_.worth_fetching_ahead();
}

template <typename Driver>
std::span<const Extent> CacheHandle<Driver>::note_read(Extent extent) {
  noted_read_ = {};
  of_others_.clear();
  if (rules_.part == nullptr || rules_.deterministic || extent.empty() || !is_foreseen(extent))
    return {};
  const Status ahead = within_memory([&] { return look_ahead(extent); });
  if (ahead.code == Code::no_memory) drop_predictor();
  noted_read_ = extent;
  return of_others_;
}

template <typename Driver>
void CacheHandle<Driver>::fetch_foretold(std::span<const Extent> extents) {
  if (rules_.deterministic || rules_.read_ahead_bytes == 0) return;
  const Status ignored = within_memory([&]() -> Status {
    std::span<const Extent> fetch = own(extents);
    if (fetch.empty()) return {};
    const int64_t step = fetch.size() > 1 ? fetch[1].offset - fetch[0].offset : fetch[0].length;
    if (take_offers(fetch, {{}, step, 0})) fetch = own(together_.sorted());
    fetch_in_background(fetch);
    return {};
  });
  (void)ignored;  // the reads of these bytes will fetch them
}

template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::read_untranslated(Extent extent, Target target, int64_t* got) {
  if (!told_)
    return writes_through() ? read_past(extent, target, got) : read_pages(extent, target, got);
  if (bypasses(extent.length)) return read_long(extent, target, got);
  if (stays_aside(reads_, extent) || bypasses_locally(reads_, extent))
    return read_past(extent, target, got);
  return read_pages(extent, target, got);
}

// A long read goes past the cache, but for the pages that the cache holds.
template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::read_long(Extent extent, Target target, int64_t* got) {
  if (writes_through() || rules_.deterministic) {
    long_reads_.forget();
    return read_past(extent, target, got);
  }
  const int64_t began_ns = Driver::now_ns();
  int64_t past_bytes = 0, past_ns = 0;
  Status status;
  *got = 0;
  while (*got < extent.length) {
    const Extent rest{extent.offset + *got, extent.length - *got};
    bool held = false;
    const Extent run{rest.offset, cache_.held_run(file_, rest, &held)};
    int64_t moved = 0, ns = 0;
    status =
        held ? read_pages(run, target + *got, &moved) : read_past(run, target + *got, &moved, &ns);
    if (!status.ok()) break;
    if (!held) {
      past_bytes += moved;
      past_ns += ns;
    }
    *got += moved;
    if (moved < run.length) break;  // the end of file
  }
  long_reads_.note({began_ns, Driver::now_ns(), *got, past_ns, past_bytes});
  return status;
}

template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::read_pages(Extent extent, Target target, int64_t* got) {
  const int64_t page_size = cache_.page_size();
  const bool one_page = extent.offset / page_size == (extent.end() - 1) / page_size;
  const int64_t page_before = last_page_;
  const bool same_page = continues_page(extent.offset);
  if (one_page && cache_.read_resident(file_, extent, target, !same_page, &translation_)) {
    *got = extent.length;
    return {};
  }
  // Of several pages only the first can be the last one of the access before.
  const int64_t counted_end = told_ ? extent.offset + (same_page ? 1 : 0) : extent.end();
  fetched_ahead_ = {};
  // Without a prediction of the next reads, only the wanted bytes are fetched.
  const bool whole_pages = next_run_is_near(extent) ||
                           (predictor_ && (predictor_->predicts() || sweeps(extent, page_before)));
  Status status = within_memory(
      [&] { return cache_.read(file_, extent, target, whole_pages, counted_end, got); });
  if (status.code == Code::no_memory) {
    no_page();
    status = read_past(extent, target, got);
  }
  continues_page(extent.end() - 1);
  return status;
}

// Whether the access under way goes on so near behind this run that one request for both is best.
template <typename Driver>
bool CacheHandle<Driver>::next_run_is_near(Extent run) const {
  constexpr int64_t near_bytes = 4 << 10;
  if (runs_ == nullptr || runs_->done()) return false;
  const Extent next = runs_->next();
  runs_->put_back(next);
  return next.offset >= run.end() && next.offset - run.end() < near_bytes;
}

// Whether accesses whose places no rule foretells stay near each other.
template <typename Driver>
bool CacheHandle<Driver>::sweeps(Extent extent, int64_t page_before) const {
  const int64_t page = extent.offset / cache_.page_size();
  return predictor_->rests() > 0 && (page == page_before || page == page_before + 1);
}

// The parts of the extents that this cache serves: other bytes would be fetched for nobody here.
template <typename Driver>
std::span<const Extent> CacheHandle<Driver>::own(std::span<const Extent> extents) {
  if (rules_.part == nullptr) return extents;
  const FileDomains& domains = rules_.part->domains;
  own_.clear();
  of_others_.clear();
  for (Extent extent : extents) {
    if (extent.end() > INT64_MAX - domains.chunk_bytes()) continue;  // no file is so long
    while (!extent.empty()) {
      const int64_t end = std::min(domains.same_owner_at(extent.offset).end(), extent.end());
      std::vector<Extent>& whose = rules_.part->has(extent.offset) ? own_ : of_others_;
      whose.push_back({extent.offset, end - extent.offset});
      extent = {end, extent.end() - end};
    }
  }
  return own_;
}

// What to fetch ahead after the access: for this handle and, with it, for others whose reads lie
// between.
template <typename Driver>
std::span<const Extent> CacheHandle<Driver>::foretold(Extent access) {
  NextReads& offer = file_.next_reads();
  if (predictor_->row_holds() && !offer.offered()) predictor_->row_fetched();
  const std::span<const Extent> fetch = predictor_->access(access);
  if (predictor_->row_holds()) return fetch;
  offer.withdraw();  // its bytes are not read next, or are fetched now
  ReadRow next = predictor_->next_row();
  if (next.count == 0) return fetch;
  if (fetch.empty() || !take_offers(fetch, next)) {
    offer.offer(next);
    return fetch;
  }
  if (!predictor_->row_holds()) next = predictor_->next_row();
  if (next.count > 0) offer.offer(next);
  return together_.sorted();
}

// Takes the rows that others offer from one step before the extents to one step behind. If these
// reach further than the extents, takes this handle's next row, too: so the handles' rows begin at
// the same place from then on. `next`: that row, or one of no extents; its step counts.
// Returns whether there were any; they are in `together_`, with the extents.
template <typename Driver>
bool CacheHandle<Driver>::take_offers(std::span<const Extent> fetch, const ReadRow& next) {
  file_.next_reads_of_others(next_reads_);
  const int64_t reach = std::abs(next.step);
  const int64_t begin = fetch.front().offset - reach;
  const int64_t end = fetch.back().end() + std::min(reach, INT64_MAX - fetch.back().end());
  offered_.clear();
  for (NextReads* const reads : next_reads_) {
    const std::optional<NextReads::Offer> offer = reads->look();
    if (!offer) continue;
    const Extent span = offer->row.span();
    if (!span.empty() && span.offset <= end && span.end() >= begin)
      offered_.push_back({reads, *offer});
  }
  if (offered_.empty()) return false;
  // In the same order whichever handles are looked at first.
  std::ranges::sort(offered_, {}, [](const Offered& o) { return o.offer.row.first.offset; });
  together_.clear();
  int64_t bytes = 0;
  for (const Extent& extent : fetch) {
    together_.add(extent);
    bytes += extent.length;
  }
  bool further = false;
  const auto add = [&](const ReadRow& row) {
    bytes += row.count * row.first.length;
    together_.add_row(row.first, row.step, row.count);
  };
  for (const auto& [reads, offer] : offered_) {
    if (bytes > cache_.capacity_bytes() / 4) break;
    if (!reads->take(offer)) continue;
    add(offer.row);
    const Extent span = offer.row.span();
    further = further || (next.step > 0 ? span.end() > end : span.offset < begin);
  }
  if (further && next.count > 0) {
    add(next);
    predictor_->row_fetched();
  }
  return true;
}

// Leaves out what the cache has: whoever works in the background costs more than a look.
template <typename Driver>
void CacheHandle<Driver>::fetch_in_background(std::span<const Extent> extents) {
  if (!cache_.has_frames(file_, {extents, cache_.page_size()})) file_.fetch_in_background(extents);
}

template <typename Driver>
Status CacheHandle<Driver>::look_ahead(Extent access) {
  if (!predictor_) return {};
  if (bypasses(access.length)) look_further_ahead(access.length);
  if (predictor_->rests() > 0) {
    predictor_->rested(1, access.length);
    return {};
  }
  const std::span<const Extent> fetch = own(foretold(access));
  if (fetch.empty()) return {};
  // Predictions of small accesses that keep changing mean the same pages again and again.
  Pages wanted;
  if (fetch.size() == 1) {
    wanted = {fetch.front().offset / cache_.page_size(),
              (fetch.front().end() - 1) / cache_.page_size()};
    if (fetched_ahead_.contain(wanted)) return {};
  }
  fetched_ahead_ = wanted;
  if (!rules_.deterministic) {
    fetch_in_background(fetch);
    return {};
  }
  PageCursor pages(fetch, cache_.page_size());
  while (cache_.prefetch(file_, pages)) {
  }
  return {};
}

}  // namespace forebay
