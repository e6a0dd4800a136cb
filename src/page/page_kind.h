// Page kinds. A page remembers which of its bytes hold data (valid regions), which of these storage
// does not have yet (dirty regions), and which are being written to storage (regions in flight).
// There is one file per kind, and one line in page_kinds().
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
// All members are called under the shard's lock, except that publish(), holds(), missing(), dirty()
// and any_dirty() of a kind that is lock_free() may be called without it.
//
// A process may be killed at any instruction of a member. Another process then finds the state as
// it was at that instruction. For every such state:
//   * unsaved() finds every byte that was dirty or in flight, except bytes that the interrupted
//     member was making clean (settle) or forgetting (truncate, reset). It finds no other byte,
//     except those of an interrupted publish(), which are in place.
//   * repair() makes it a regular state in which the bytes that unsaved() finds are dirty.
// So a member stores new information before it discards what the information replaces.
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

// A bounded kind (region tree) remembers at least this many regions of a page; a region is a
// maximal run of clean valid bytes, of dirty bytes or of bytes in flight. With more regions,
// publish() and fill() may forget clean bytes, and may refuse. Bytes dirty or in flight are never
// forgotten.
constexpr int64_t remembered_regions(int64_t page_size) {
  return page_size < 1536 ? 6 : page_size / 256;
}

using Regions = std::vector<Extent>;  // ascending, disjoint, not touching

class PageKind {
 public:
  virtual std::string_view name() const = 0;
  virtual std::string_view meaning() const = 0;

  virtual std::size_t state_bytes(int64_t page_size) const = 0;
  // Afterwards nothing is valid, dirty or in flight, whatever the memory held before.
  virtual void reset(void* state, int64_t page_size) const = 0;

  // Whether publish() may run without the shard's lock, at the same time as publish(), holds(),
  // take_dirty(), settle() and repair(). Its stores are atomic, and a region becomes dirty only by
  // stores made after the caller's copy of its bytes (release order).
  virtual bool lock_free() const = 0;
  // Whether a partial write needs the page filled from storage first (delta pages).
  virtual bool fill_before_write() const = 0;

  // Makes `region` dirty: its bytes are in place and newer than storage's. Bytes in flight become
  // dirty again. False: there is no room to remember the region, and nothing changed. After the
  // dirty regions were taken, committed and settled, by the caller or by another process, publish()
  // succeeds.
  virtual bool publish(void* state, int64_t page_size, Extent region) const = 0;
  // The bytes of `region` that were neither valid nor dirty now hold storage's data. False: there
  // is no room to remember that, and these bytes stay missing.
  virtual bool fill(void* state, int64_t page_size, Extent region) const = 0;
  // Whether every byte of `region` is valid. Bytes dirty or in flight are valid.
  virtual bool holds(const void* state, int64_t page_size, Extent region) const = 0;
  // Appends the parts of `region` that are not valid.
  virtual void missing(const void* state, int64_t page_size, Extent region, Regions& out) const = 0;
  // Appends the dirty regions. They are now in flight: valid and not dirty until settle(). Nothing
  // may be in flight before the call. If `out` cannot grow, std::bad_alloc leaves the taken regions
  // in flight.
  virtual void take_dirty(void* state, int64_t page_size, Regions& out) const = 0;
  // The regions in flight become clean (`stored`) or dirty again (not `stored`). Bytes published
  // since take_dirty() stay dirty.
  virtual void settle(void* state, int64_t page_size, bool stored) const = 0;
  // Appends the regions that storage may lack: dirty or in flight, merged where they meet. Correct
  // also on the state that a death left.
  virtual void unsaved(const void* state, int64_t page_size, Regions& out) const = 0;
  // Repairs the state after a death within a member, under the lock: the bytes that unsaved() finds
  // become dirty, clean bytes are forgotten, and every member works again. A death within repair()
  // itself does no harm.
  virtual void repair(void* state, int64_t page_size) const = 0;
  virtual void dirty(const void* state, int64_t page_size, Regions& out) const = 0;
  virtual bool any_dirty(const void* state, int64_t page_size) const = 0;
  // Forgets the valid bytes that are neither dirty nor in flight.
  virtual void drop_clean(void* state, int64_t page_size) const = 0;
  // Forgets everything at and beyond `length`, dirty, in flight or not.
  virtual void truncate(void* state, int64_t page_size, int64_t length) const = 0;

 protected:
  // Not virtual, and so trivial: the kinds in the table must stay usable while the process ends.
  ~PageKind() = default;
};

// The table of kinds. Options, hints and tests use it.
std::span<const PageKind* const> page_kinds();
const PageKind* find_page_kind(std::string_view name);  // nullptr: no such kind

}  // namespace forebay
