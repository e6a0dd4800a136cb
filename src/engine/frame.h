// A frame: a place in the arena that holds one page, and the translation protocol around it.
//
// Invariants
// - `key`, `hash_next`, `io`, `leaving`, `ahead` and the policy's links change only under the lock
//   of the frame's shard.
// - `tag` is even while the frame may be used by translations, odd while it is closed. Every close
//   and every reopening increments it, so a translation (frame, tag) that still matches an even tag
//   names the same page as when it was made.
// - A process uses a frame without the lock only between `seat.busy = frame` (sequentially
//   consistent) and `seat.busy = none`, and only after it has seen its tag unchanged in between.
//   A process that closes a frame waits until no seat is busy with it; from then on the bytes and
//   the page state belong to that process.
// - `writers` says whose bytes storage may lack. A handle that has published bytes adds itself if
// it
//   finds itself missing. Only a committer clears it, then waits for busy seats, and then takes the
//   dirty regions. So a frame with dirty regions has writers, or a committer at work on it.
#pragma once

#include <atomic>
#include <cstdint>

#include "policy/policy.h"

namespace forebay {

// Handles that write, a bit for each number modulo 64: handles whose numbers share a bit count as
// one.
using Writers = uint64_t;
inline constexpr Writers every_writer = ~Writers{0};
inline Writers writer_of(uint32_t number) { return Writers{1} << (number % 64); }

enum class FrameIo : uint32_t {
  idle,
  committing,    // dirty regions are on their way to storage; readers and writers go on
  recommitting,  // likewise, but a repair made them dirty again: they must be committed once more
  filling,  // storage is being read for it; while the tag is odd, no other process may touch it
};

// Whether a page was fetched before anybody asked for it.
enum class Ahead : uint32_t {
  no,       // or it has been used since
  unused,   // nobody has asked for it yet
  awaited,  // somebody waits for it while it is still being fetched
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
  uint32_t io_process = 0;  // the process that does the I/O, by the driver's number
  std::atomic<Writers> writers{0};
  uint32_t leaving = 0;  // 1: the policy has evicted the page, which stays until storage has it
  Ahead ahead = Ahead::no;
  uint32_t last_writer = 0;  // the handle that came last to write to the page, by number + 1
  uint32_t shared = 0;       // 1: several handles have written to the page

  // Whether a page of the frame may have bytes that storage lacks.
  bool may_be_dirty() const { return writers.load(std::memory_order_seq_cst) != 0; }
  bool closed() const { return (tag.load(std::memory_order_relaxed) & 1) != 0; }
};
static_assert(sizeof(Frame) == 64);

}  // namespace forebay
