// Measures whether the cache brings a gain, and goes past it where it does not. Accesses past the
// cache are coherent at any time, so handles need not agree on a verdict: it stands in the file's
// state, where every handle of the node sees it at its next page. The driver tells the time.
#pragma once

#include <algorithm>

#include "engine/cache_handle.h"

namespace forebay {

template <typename Driver>
bool CacheHandle<Driver>::is_aside(const Direction& direction) const {
  return (shared().aside.load(std::memory_order_relaxed) & direction.kind) != 0;
}

template <typename Driver>
bool CacheHandle<Driver>::adapts(const Direction& direction, int64_t length) const {
  return rules_.step_aside == SteppingAside::automatic && !rules_.deterministic &&
         !bypasses(length) && !is_aside(direction);
}

template <typename Driver>
bool CacheHandle<Driver>::samples_cheaply(const Direction& direction) const {
  return direction.kind == reads_aside && direction.local.expects() && !cache_.may_be_dirty();
}

// Whether an access is to go past the cache as a sample. Only if the cache holds none of its bytes:
// otherwise the sample would first commit cached bytes, and measure (and cause) that instead. But
// clean bytes need no commit, and storage that answers from this node's memory answers a sample as
// fast whatever was fetched before. Once storage must keep up with what is written it matters what
// the cache brings, whatever samples cost.
template <typename Driver>
bool CacheHandle<Driver>::samples_past(Direction& direction, Extent extent, uint32_t calls) {
  const bool cheap = samples_cheaply(direction);
  return direction.gain.direct_sample_due(calls, extent.length * calls, cheap) &&
         (cheap || ((must_keep_up_ || direction.gain.affords_sample(background_of(direction))) &&
                    !cache_.any_held(file_, extent)));
}

// Whether the access goes past the cache because storage is local; then counts the call.
template <typename Driver>
bool CacheHandle<Driver>::bypasses_locally(Direction& direction, Extent extent) {
  if (direction.kind == writes_aside)
    direction.local.note_write(extent.length);
  else
    direction.local.note_read();
  if (!direction.local.takes(extent.length) || cache_.any_held(file_, extent)) return false;
  if (!aside_counted_) ++statistics().local_calls;
  count_call(&Statistics::aside_calls, aside_counted_);
  return true;
}

// Times a call that goes through the cache or, at times, past it. Two looks at the clock cost as
// much as a small call, so of small calls only one in small_calls_a_sample is timed.
template <typename Driver>
template <typename PastCache, typename Cached>
Status CacheHandle<Driver>::sample(Direction& direction, Extent extent, PastCache past_cache,
                                   Cached cached) {
  constexpr int64_t most_small_calls_a_sample = 32;
  constexpr int64_t small_call_bytes = 16 << 10;
  constexpr int64_t local_calls_a_sample = 8;  // of calls that are expected to be quick
  const bool local = !bypasses(extent.length) && bypasses_locally(direction, extent);
  const int64_t small_calls_a_sample =
      samples_cheaply(direction)
          ? std::min(direction.gain.calls_a_cheap_sample() / 2, most_small_calls_a_sample)
          : most_small_calls_a_sample;
  const auto calls =
      static_cast<uint32_t>(local                               ? local_calls_a_sample
                            : extent.length >= small_call_bytes ? 1
                                                                : small_calls_a_sample);
  direction.calls_until_sample = calls - 1;
  const bool measures = local || adapts(direction, extent.length);
  const bool direct = local || (measures && samples_past(direction, extent, calls));
  int64_t storage_ns = 0;
  const int64_t before = Driver::now_ns();
  const Status status = direct ? past_cache(&storage_ns) : cached();
  const int64_t spent = Driver::now_ns() - before;
  statistics().io_ns += direct && !local ? spent : spent * calls;
  if (!status.ok()) return status;
  if (!measures) {
    watch_aside(direction, spent, extent.length);
  } else if (local) {
    direction.local.took(storage_ns, extent.length);
  } else if (direct) {
    direction.gain.direct(storage_ns, extent.length);
    judge(direction);
  } else {
    direction.gain.cached(spent, extent.length, calls);
    if (direction.kind == reads_aside)
      shared().cached_reads.fetch_add(calls, std::memory_order_relaxed);
  }
  return status;
}

template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write_sampled(Extent extent, Source source, int64_t at) {
  return sample(
      writes_, extent, [&](int64_t* ns) { return write_past(extent, source, at, ns); },
      [&] {
        if (write_translated(extent, source + at)) {
          raise_end(extent.end());
          return Status::success();
        }
        const Status status = write_untranslated(extent, source, at);
        return status.ok() ? write_waiting(source) : status;
      });
}

template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::read_sampled(Extent extent, Target target, int64_t* got) {
  return sample(
      reads_, extent, [&](int64_t* ns) { return read_past(extent, target, got, ns); },
      [&] {
        if (!read_translated(extent, target)) return read_untranslated(extent, target, got);
        *got = extent.length;
        return Status::success();
      });
}

// A verdict that was reached while storage answered from memory ends when it no longer does.
template <typename Driver>
void CacheHandle<Driver>::watch_aside(Direction& direction, int64_t ns, int64_t bytes) {
  if (!direction.local.expects() || !is_aside(direction)) return;
  direction.local.took(ns, bytes);
  if (!direction.local.expects())
    shared().aside.fetch_and(~direction.kind, std::memory_order_relaxed);
}

template <typename Driver>
void CacheHandle<Driver>::judge(Direction& direction) {
  if (direction.gain.judge(background_of(direction)))
    shared().aside.fetch_or(direction.kind, std::memory_order_relaxed);
}

template <typename Driver>
Gain::Background CacheHandle<Driver>::background_of(const Direction& direction) const {
  if (direction.kind == writes_aside) return {.ns_per_byte = commit_ns_per_byte()};
  return {.ns_per_call = fetch_ns_per_read()};
}

// What fetching ahead costs a read, of all handles: one handle's reads find what another fetched.
template <typename Driver>
double CacheHandle<Driver>::fetch_ns_per_read() const {
  const int64_t reads = shared().cached_reads.load(std::memory_order_relaxed);
  const int64_t ns = shared().fetch_ahead_ns.load(std::memory_order_relaxed);
  return reads == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(reads);
}

// Whether an access goes past the cache because of the verdict, or because of the option; then
// counts the call.
template <typename Driver>
bool CacheHandle<Driver>::stays_aside(Direction& direction, Extent extent) {
  if (rules_.step_aside != SteppingAside::always) {
    if (!is_aside(direction) || rules_.step_aside != SteppingAside::automatic) return false;
    if (!direction.gain.stay_aside()) {
      shared().aside.fetch_and(~direction.kind, std::memory_order_relaxed);
      return false;
    }
  }
  // A read finds what the cache holds. A write past the cache takes it out.
  if (direction.kind == reads_aside && cache_.any_held(file_, extent)) return false;
  count_call(&Statistics::aside_calls, aside_counted_);
  return true;
}

// The cost of commits: of this handle, and of earlier handles on the same device; negative while
// too little is known.
template <typename Driver>
double CacheHandle<Driver>::commit_ns_per_byte() const {
  constexpr int64_t enough_bytes = 1 << 20;
  const CommitCost cost = file_.commit_cost();
  if (cost.bytes < enough_bytes) return -1;
  return static_cast<double>(cost.ns) / static_cast<double>(cost.bytes);
}

template <typename Driver>
double CacheHandle<Driver>::commit_ns_per_request() const {
  const CommitCost cost = file_.commit_cost();
  return cost.requests == 0 ? 0 : static_cast<double>(cost.ns) / static_cast<double>(cost.requests);
}

}  // namespace forebay
