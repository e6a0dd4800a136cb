// Progressive page with a mask (Settlemyer 5.2.1): three bit arrays with one bit per byte, in the
// order `dirty`, `valid`, `in flight`.
//
// Invariants
//   * A byte holds data when its valid OR its dirty bit is set; bytes in flight are valid.
//   * publish() only sets bits of `dirty`, without a lock. All other members that change a page
//     hold the shard's lock, so `valid` and `in flight` have one writer at a time. A byte published
//     while it is in flight has both bits set.
//   * take_dirty() sets a word's in-flight and valid bits before it clears the dirty bits, and
//     holds() reads the dirty word before the valid word. So a byte that moves from dirty to valid
//     is seen in at least one of the two.
//   * take_dirty() clears a dirty bit before its caller reads the byte; publish() sets the bit
//     after its caller wrote the byte. So a byte newer than what was read is always dirty.
//   * settle() (when bytes were not stored) and repair() set dirty bits before they clear the same
//     in-flight bits. So at every instruction a byte that storage lacks is in one of the two
//     arrays, and these two are right even when their writer dies.
#pragma once

#include "page/page_kind.h"

namespace forebay {

class MaskPage : public PageKind {
 public:
  std::string_view name() const override { return "mask"; }
  std::string_view meaning() const override {
    return "progressive page: never filled, one bit a byte says what is valid and what is dirty";
  }
  std::size_t state_bytes(int64_t page_size) const override;
  void reset(void* state, int64_t page_size) const override;
  bool lock_free() const override { return true; }
  bool fill_before_write() const override { return false; }
  bool publish(void* state, int64_t page_size, Extent region) const override;
  bool fill(void* state, int64_t page_size, Extent region) const override;
  bool holds(const void* state, int64_t page_size, Extent region) const override;
  void missing(const void* state, int64_t page_size, Extent region, Regions& out) const override;
  void take_dirty(void* state, int64_t page_size, Regions& out) const override;
  void settle(void* state, int64_t page_size, bool stored) const override;
  void unsaved(const void* state, int64_t page_size, Regions& out) const override;
  void repair(void* state, int64_t page_size) const override;
  void dirty(const void* state, int64_t page_size, Regions& out) const override;
  bool any_dirty(const void* state, int64_t page_size) const override;
  void drop_clean(void* state, int64_t page_size) const override;
  void truncate(void* state, int64_t page_size, int64_t length) const override;
};

}  // namespace forebay
