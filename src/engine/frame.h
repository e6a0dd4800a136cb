// A frame: a place in the arena that holds one page, and the translation protocol around it.
//
// Invariants
// - `key`, `hash_next`, `io` and the policy's links change only under the frame's shard lock.
// - `tag` is even while the frame may be used by translations, odd while it is closed. Every close
//   and every reopening increments it, so a translation (frame, tag) that still matches an even tag
//   names the same page as when it was made.
// - A process uses a frame without the lock only between `seat.busy = frame` (sequentially
//   consistent) and `seat.busy = none`, and only after it has seen its tag unchanged in between.
//   A process that closes a frame waits until no seat is busy with it; from then on the bytes and
//   the page state belong to that process.
// - `dirty_hint` is set by a process that has published bytes and finds the hint clear. Only a
//   committer clears it, then waits for busy seats, and then takes the dirty regions. So a frame
//   with dirty regions has its hint set, or a committer at work on it.
#pragma once

#include <atomic>
#include <cstdint>

#include "policy/policy.h"

namespace forebay {

enum class FrameIo : uint32_t {
  idle,
  committing,    // dirty regions are on their way to storage; readers and writers go on
  recommitting,  // likewise, but a repair made them dirty again: they must be committed once more
  filling,  // storage is being read for it; while the tag is odd, no other process may touch it
};

// The part of a frame that a shard uses.
struct FrameSlot {
  PageKey key{};                    // key.file == 0: free
  FrameIndex hash_next = no_frame;  // also the free list's link
  uint32_t file_slot = 0;           // the driver's number of the file, for commits
};

struct alignas(64) Frame : FrameSlot {
  std::atomic<uint64_t> tag{1};
  FrameIo io = FrameIo::idle;
  std::atomic<uint32_t> dirty_hint{0};
  uint32_t io_process = 0;  // the process that does the I/O, by the driver's number

  bool closed() const { return (tag.load(std::memory_order_relaxed) & 1) != 0; }
};
static_assert(sizeof(Frame) == 64);

}  // namespace forebay
