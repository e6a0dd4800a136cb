// Measures whether the cache is worth its while and goes past it where it is not. Going past it is
// coherent at any time, so a verdict needs no agreement: it stands in the file's entry, where every
// handle of the node sees it at its next page.

#include "runtime/arena_cache.h"
#include "runtime/cached_file.h"
#include "runtime/clock.h"
#include "runtime/node.h"
#include "runtime/registry.h"

namespace forebay::runtime {

namespace {

// Two looks at the clock cost as much as a small call: of those one in so many is timed.
constexpr uint32_t small_calls_a_sample = 32;
constexpr int64_t small_call_bytes = 16 << 10;
constexpr uint32_t local_calls_a_sample = 8;  // of those believed to be quick

uint32_t calls_a_sample(int64_t length) {
  return length < small_call_bytes ? small_calls_a_sample : 1;
}

}  // namespace

bool CachedFile::is_aside(const Direction& direction) const {
  return (file_->aside.load(std::memory_order_relaxed) & direction.kind) != 0;
}

bool CachedFile::adapts(const Direction& direction, int64_t length) const {
  return options_.step_aside == StepAside::automatic && !options_.deterministic &&
         !bypasses(length) && !is_aside(direction);
}

// A sample past the cache is taken only where none of its bytes is held: elsewhere it would first
// have to commit what the page has, and measure (and cause) that instead.
bool CachedFile::samples_direct(Direction& direction, Extent extent, uint32_t calls) {
  return direction.gain.direct_sample_due(calls, extent.length * calls) &&
         !arena_->any_held(requester(), extent);
}

// Counts such a call.
bool CachedFile::bypasses_locally(Direction& direction, Extent extent) {
  if (direction.kind == writes_aside)
    direction.local.note_write(extent.length);
  else
    direction.local.note_read();
  if (!direction.local.takes(extent.length) || arena_->any_held(requester(), extent)) return false;
  if (!aside_counted_) ++statistics_.local_calls;
  count_call(statistics_.aside_calls, aside_counted_);
  return true;
}

// Times a call that goes through the cache or, at times, past it.
template <class Direct, class Cached>
Status CachedFile::sample(Direction& direction, Extent extent, Direct past_cache, Cached cached) {
  const bool local = !bypasses(extent.length) && bypasses_locally(direction, extent);
  const uint32_t calls = local ? local_calls_a_sample : calls_a_sample(extent.length);
  direction.calls_until_sample = calls - 1;
  const bool measures = local || adapts(direction, extent.length);
  const bool direct = local || (measures && samples_direct(direction, extent, calls));
  int64_t storage_ns = 0;
  const int64_t before = now_ns();
  const Status status = direct ? past_cache(&storage_ns) : cached();
  const int64_t spent = now_ns() - before;
  statistics_.io_ns += spent * calls;
  if (!measures || !status.ok()) return status;
  if (local) {
    direction.local.took(storage_ns, extent.length);
  } else if (direct) {
    direction.gain.direct(storage_ns, extent.length);
    judge(direction);
  } else {
    direction.gain.cached(spent, extent.length);
  }
  return status;
}

Status CachedFile::write_sampled(Extent extent, const std::byte* memory) {
  return sample(
      writes_, extent, [&](int64_t* ns) { return write_direct(extent, memory, ns); },
      [&] { return write_cached(extent, memory); });
}

Status CachedFile::read_sampled(Extent extent, std::byte* memory, int64_t* got) {
  return sample(
      reads_, extent, [&](int64_t* ns) { return read_direct(extent, memory, got, ns); },
      [&] { return read_cached(extent, memory, got); });
}

void CachedFile::judge(Direction& direction) {
  // A read costs no commit.
  const double commit = direction.kind == writes_aside ? commit_ns_per_byte() : 0;
  if (direction.gain.judge(commit)) {
    file_->aside.fetch_or(direction.kind, std::memory_order_relaxed);
  }
}

bool CachedFile::stays_aside(Direction& direction) {
  if (options_.step_aside == StepAside::always) {
    count_call(statistics_.aside_calls, aside_counted_);
    return true;
  }
  if (!is_aside(direction) || options_.step_aside != StepAside::automatic) return false;
  if (direction.gain.stay_aside()) {
    count_call(statistics_.aside_calls, aside_counted_);
    return true;
  }
  file_->aside.fetch_and(~direction.kind, std::memory_order_relaxed);
  return false;
}

// What this handle's commits cost, and those of earlier handles on the same device; negative while
// too little is known.
double CachedFile::commit_ns_per_byte() const {
  constexpr int64_t enough_bytes = 1 << 20;
  const Statistics mine = statistics();
  const CommitCost known = node_->commit_cost(file_->identity.device);
  const int64_t bytes = mine.committed_bytes + known.bytes;
  if (bytes < enough_bytes) return -1;
  return static_cast<double>(mine.commit_ns + known.ns) / static_cast<double>(bytes);
}

}  // namespace forebay::runtime
