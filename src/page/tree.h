// Progressive page with a region tree (Settlemyer 5.2.2). Memory and time depend on the number of
// regions, not of bytes. Not lock-free: writers hold the shard's lock.
#pragma once

#include "page/page_kind.h"

namespace forebay {

class TreePage final : public PageKind {
 public:
  std::string_view name() const override { return "tree"; }
  std::string_view meaning() const override {
    return "progressive page: never filled, a balanced tree keeps its valid and dirty regions";
  }
  std::size_t state_bytes(int64_t page_size) const override;
  void reset(void* state, int64_t page_size) const override;
  bool lock_free() const override { return false; }
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
