// A cache of pages with InformedPolicy, and what informs it: one foresight for what each process
// does in each file, as open handles have it in programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "policy/informed.h"
#include "predict/foresight.h"
#include "sim/page_numbers.h"
#include "sim/pieces.h"

namespace forebay::sim {

class InformedCache final : private Candidates {
 public:
  // How places in files become numbers of pages, which are below `pages`.
  struct Layout {
    uint32_t pages;
    const PageNumbers* numbers;  // must outlive the cache; null: numbers are places
    int64_t page_bytes;
    int64_t least_past;  // contiguous pieces of at least so many bytes go past the cache
  };

  // Without frames the cache holds no page.
  InformedCache(uint32_t frames, const Layout& layout);

  // A process accesses a piece of a file, and thereby touches these pages.
  void access(const Piece& piece, std::span<const uint32_t> touches);

  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }
  int64_t evictions() const { return evictions_; }

 private:
  struct Future;

  static PageKey key(uint32_t page) { return {1, page}; }
  bool evictable(FrameIndex) const override { return true; }
  uint32_t commit_cost(FrameIndex) const override { return 0; }
  uint32_t number_of(uint32_t file, int64_t page) const;
  void touch(uint32_t page);

  Layout layout_;
  uint32_t frames_;
  uint32_t used_ = 0;
  std::vector<uint64_t> state_;
  InformedPolicy policy_;
  std::vector<FrameIndex> frame_of_;  // per page
  std::vector<uint32_t> page_in_;     // per frame in use
  std::unordered_map<uint64_t, Foresight> handles_;
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  int64_t evictions_ = 0;
};

}  // namespace forebay::sim
