// Page kinds: what a page remembers of which of its bytes hold data (valid regions), which of those
// storage does not have yet (dirty regions) and which are on their way there (regions in flight).
// One file per kind, one line in page_kinds().
//
//   mask   progressive page, a bit a byte (Settlemyer 5.2.1)
//   tree   progressive page, balanced tree of regions (Settlemyer 5.2.2)
//   delta  filled before a partial write, written back as differences (Settlemyer 4.1.2)
//
// A kind is stateless; the state of a page lives in the arena as `state_bytes(page_size)` bytes of
// plain memory, aligned to 8, valid in any process that maps it. All offsets are bytes within the
// page. A page size is a multiple of page_size_step from smallest_page_size to largest_page_size;
// it need not be a power of two.
//
// Unless a kind is lock_free(), all its members are called under the shard's lock. When it is,
// publish(), holds(), missing(), dirty() and any_dirty() may be called without it; the members that
// take a page out of use or make bytes clean never are.
//
// A process may be killed at any instruction of any member, and another one then looks at the state
// that it left. Two things hold of such a state, whatever it looks like otherwise:
//   * unsaved() finds every byte that was dirty or in flight, except where the interrupted member
//     was to make it clean (settle) or to forget it (truncate, reset), and no other byte except
//     those that the interrupted publish() was called for, which are in place.
//   * repair() makes it a state like any other, with what unsaved() finds dirty.
// So a member writes down what is new before it gives up what it replaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "extent/extent.h"

namespace forebay {

inline constexpr int64_t page_size_step = 64;  // bytes
inline constexpr int64_t smallest_page_size = 512;
inline constexpr int64_t largest_page_size = 16 << 20;

constexpr bool is_page_size(int64_t bytes) {
  return bytes >= smallest_page_size && bytes <= largest_page_size && bytes % page_size_step == 0;
}

// A bounded kind (region tree) remembers at least this many regions of a page, a region being a
// maximal run of clean valid bytes, of dirty bytes or of bytes in flight. Beyond that, publish()
// and fill() may forget clean bytes, and may refuse; bytes dirty or in flight are never forgotten.
constexpr int64_t remembered_regions(int64_t page_size) {
  return page_size < 1536 ? 6 : page_size / 256;
}

using Regions = std::vector<Extent>;  // ascending, disjoint, not touching

class PageKind {
 public:
  virtual std::string_view name() const = 0;
  virtual std::string_view meaning() const = 0;

  virtual std::size_t state_bytes(int64_t page_size) const = 0;
  // Nothing valid, dirty or in flight, whatever the memory held before.
  virtual void reset(void* state, int64_t page_size) const = 0;

  // True when publish() may run without the shard's lock, concurrently with itself, with holds(),
  // with take_dirty(), settle() and repair(): its stores are atomic, and a region becomes dirty
  // only by stores made after the caller's copy of its bytes (release order).
  virtual bool lock_free() const = 0;
  // True when a partial write must be preceded by filling the page from storage (delta pages).
  virtual bool fill_before_write() const = 0;

  // The bytes of `region` are in place and newer than storage's; bytes in flight are dirty again.
  // False: no room to remember it, and nothing changed; the caller takes, commits and settles the
  // dirty regions, or waits for whoever is about to settle them, and then succeeds.
  virtual bool publish(void* state, int64_t page_size, Extent region) const = 0;
  // The bytes of `region` that were neither valid nor dirty now hold storage's data. False: no room
  // to remember that; they stay missing.
  virtual bool fill(void* state, int64_t page_size, Extent region) const = 0;
  // Every byte of `region` is valid (bytes dirty or in flight are).
  virtual bool holds(const void* state, int64_t page_size, Extent region) const = 0;
  // Appends the parts of `region` that are not valid.
  virtual void missing(const void* state, int64_t page_size, Extent region, Regions& out) const = 0;
  // Appends the dirty regions; they are in flight from now on, valid and not dirty, until settle().
  // Nothing is in flight before: a page's dirty regions are taken once at a time. Where `out` is
  // refused memory, std::bad_alloc leaves what was taken in flight.
  virtual void take_dirty(void* state, int64_t page_size, Regions& out) const = 0;
  // The regions in flight become clean (stored) or dirty again (not stored). Bytes published since
  // they were taken stay dirty either way.
  virtual void settle(void* state, int64_t page_size, bool stored) const = 0;
  // Appends what storage may lack: the regions dirty or in flight, merged where they meet. Right on
  // a state that a death left behind as well.
  virtual void unsaved(const void* state, int64_t page_size, Regions& out) const = 0;
  // After a death within a member, under the lock: makes what is unsaved() dirty, forgets the clean
  // bytes, and leaves a state on which every member works. May itself be interrupted by a death.
  virtual void repair(void* state, int64_t page_size) const = 0;
  virtual void dirty(const void* state, int64_t page_size, Regions& out) const = 0;
  virtual bool any_dirty(const void* state, int64_t page_size) const = 0;
  // Forgets the valid bytes that are neither dirty nor in flight.
  virtual void drop_clean(void* state, int64_t page_size) const = 0;
  // Forgets everything at and beyond `length`, dirty, in flight or not.
  virtual void truncate(void* state, int64_t page_size, int64_t length) const = 0;

 protected:
  // Not virtual, hence trivial: a kind in the table lives on while the process ends.
  ~PageKind() = default;
};

// The table of kinds; choices on the command line, in hints and in tests come from it.
std::span<const PageKind* const> page_kinds();
const PageKind* find_page_kind(std::string_view name);  // nullptr: no such kind

}  // namespace forebay
