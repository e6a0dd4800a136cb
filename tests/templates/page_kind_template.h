// A template for a page kind: one flag byte per byte of the page. Copy it to src/page/, rename it,
// and add it to the table in src/page/page_kinds.cpp.
#pragma once

#include <algorithm>
#include <cstring>

#include "page/page_kind.h"

namespace forebay::templates {

class BytePage final : public PageKind {
 public:
  std::string_view name() const override { return "byte"; }
  std::string_view meaning() const override { return "a byte a byte says what is valid and dirty"; }

  // The state is plain memory in the arena: no pointers, and nothing that a constructor would make.
  std::size_t state_bytes(int64_t page_size) const override {
    return static_cast<std::size_t>(page_size);
  }
  void reset(void* state, int64_t page_size) const override {
    std::memset(state, nothing, state_bytes(page_size));
  }

  bool lock_free() const override { return false; }  // plain stores: callers hold the shard's lock
  bool fill_before_write() const override { return false; }

  bool publish(void* state, int64_t, Extent region) const override {
    std::memset(flags(state) + region.offset, newer, static_cast<std::size_t>(region.length));
    return true;
  }
  bool fill(void* state, int64_t, Extent region) const override {
    for (int64_t i = region.offset; i < region.end(); ++i) {
      if (flags(state)[i] == nothing) flags(state)[i] = clean;
    }
    return true;
  }
  bool holds(const void* state, int64_t page_size, Extent region) const override {
    Regions gaps;
    missing(state, page_size, region, gaps);
    return gaps.empty();
  }
  void missing(const void* state, int64_t, Extent region, Regions& out) const override {
    collect(
        state, region, [](char flag) { return flag == nothing; }, out);
  }
  void take_dirty(void* state, int64_t page_size, Regions& out) const override {
    dirty(state, page_size, out);
    std::replace(flags(state), flags(state) + page_size, newer, in_flight);
  }
  void settle(void* state, int64_t page_size, bool stored) const override {
    std::replace(flags(state), flags(state) + page_size, in_flight, stored ? clean : newer);
  }
  void unsaved(const void* state, int64_t page_size, Regions& out) const override {
    collect(
        state, {0, page_size}, [](char flag) { return flag >= newer; }, out);
  }
  // Each flag is changed by one store, so after a death every flag is valid.
  void repair(void* state, int64_t page_size) const override {
    settle(state, page_size, false);
    drop_clean(state, page_size);
  }
  void dirty(const void* state, int64_t page_size, Regions& out) const override {
    collect(
        state, {0, page_size}, [](char flag) { return flag == newer; }, out);
  }
  bool any_dirty(const void* state, int64_t page_size) const override {
    return std::find(flags(state), flags(state) + page_size, newer) != flags(state) + page_size;
  }
  void drop_clean(void* state, int64_t page_size) const override {
    std::replace(flags(state), flags(state) + page_size, clean, nothing);
  }
  void truncate(void* state, int64_t page_size, int64_t length) const override {
    std::fill(flags(state) + length, flags(state) + page_size, nothing);
  }

 private:
  static constexpr char nothing = 0;
  static constexpr char clean = 1;
  static constexpr char newer = 2;
  static constexpr char in_flight = 3;

  static char* flags(void* state) { return static_cast<char*>(state); }
  static const char* flags(const void* state) { return static_cast<const char*>(state); }

  // Appends the maximal runs of flags that pass `test`.
  template <typename Test>
  static void collect(const void* state, Extent region, Test test, Regions& out) {
    Extent run{region.offset, 0};
    for (int64_t i = region.offset; i < region.end(); ++i) {
      if (test(flags(state)[i])) {
        ++run.length;
        continue;
      }
      if (!run.empty()) out.push_back(run);
      run = {i + 1, 0};
    }
    if (!run.empty()) out.push_back(run);
  }
};

}  // namespace forebay::templates
