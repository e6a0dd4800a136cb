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

uint32_t calls_a_sample(int64_t length) {
  return length < small_call_bytes ? small_calls_a_sample : 1;
}

}  // namespace

bool CachedFile::adapts(int64_t length, uint32_t kind) const {
  return options_.step_aside == StepAside::automatic && !options_.deterministic &&
         !bypasses(length) && (file_->aside.load(std::memory_order_relaxed) & kind) == 0;
}

// A sample past the cache is taken only where no page is resident: elsewhere it would first have to
// commit what neighbours have begun, and measure (and cause) that instead.
bool CachedFile::samples_direct(Gain& gain, Extent extent, uint32_t calls) {
  return gain.direct_sample_due(calls, extent.length * calls) &&
         !arena_->any_resident(requester(), extent);
}

Status CachedFile::write_sampled(Extent extent, const std::byte* memory) {
  const uint32_t calls = calls_a_sample(extent.length);
  writes_until_sample_ = calls - 1;
  const bool measures = adapts(extent.length, writes_aside);
  const bool direct = measures && samples_direct(write_gain_, extent, calls);
  int64_t storage_ns = 0;
  const int64_t before = now_ns();
  const Status status =
      direct ? write_direct(extent, memory, &storage_ns) : write_cached(extent, memory);
  const int64_t spent = now_ns() - before;
  statistics_.io_ns += spent * calls;
  if (measures && status.ok()) {
    learn(write_gain_, writes_aside, direct, direct ? storage_ns : spent, extent.length);
  }
  return status;
}

Status CachedFile::read_sampled(Extent extent, std::byte* memory, int64_t* got) {
  const uint32_t calls = calls_a_sample(extent.length);
  reads_until_sample_ = calls - 1;
  const bool measures = adapts(extent.length, reads_aside);
  const bool direct = measures && samples_direct(read_gain_, extent, calls);
  int64_t storage_ns = 0;
  const int64_t before = now_ns();
  const Status status =
      direct ? read_direct(extent, memory, got, &storage_ns) : read_cached(extent, memory, got);
  const int64_t spent = now_ns() - before;
  statistics_.io_ns += spent * calls;
  if (measures && status.ok()) {
    learn(read_gain_, reads_aside, direct, direct ? storage_ns : spent, extent.length);
  }
  return status;
}

void CachedFile::learn(Gain& gain, uint32_t kind, bool direct, int64_t ns, int64_t bytes) {
  if (direct) {
    gain.direct(ns, bytes);
    judge(gain, kind);
  } else {
    gain.cached(ns, bytes);
  }
}

void CachedFile::judge(Gain& gain, uint32_t kind) {
  // A read costs no commit.
  const double commit = kind == writes_aside ? commit_ns_per_byte() : 0;
  if (gain.judge(commit)) file_->aside.fetch_or(kind, std::memory_order_relaxed);
}

bool CachedFile::stays_aside(Gain& gain, uint32_t kind) {
  if ((file_->aside.load(std::memory_order_relaxed) & kind) == 0) return false;
  if (options_.step_aside != StepAside::automatic) return false;
  if (gain.stay_aside()) {
    ++statistics_.aside_calls;
    return true;
  }
  file_->aside.fetch_and(~kind, std::memory_order_relaxed);
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
