// A cache of pages with InformedPolicy and the forecasts that it is informed by: one for what each
// process does in each file. Accesses that are foreseen keep their place until they happen, or
// until their process does something else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "policy/informed.h"
#include "predict/forecast.h"
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
  using Index = uint32_t;
  static constexpr Index none = 0xffffffffu;

  // A touch that is foreseen, in the list of its page.
  struct Foreseen {
    uint64_t when;
    uint32_t page;
    Index next;
  };
  // What one process does in one file.
  struct Source {
    Forecast forecast;
    std::deque<uint32_t> accesses;  // that are foreseen: how many touches each makes
    std::deque<Index> touches;      // of all of these
    int64_t last_page = -1;         // of the last access that is foreseen, or took place
    uint64_t touched_at = 0;        // time of its last touch
    double pace = 1;                // touches of the cache for each touch of the source
    double paced = 0;               // touches that the pace is the mean of
  };

  static PageKey key(uint32_t page) { return {1, page}; }
  bool evictable(FrameIndex) const override { return true; }
  uint32_t commit_cost(FrameIndex) const override { return 0; }
  uint32_t number_of(uint32_t file, int64_t page) const;
  Source& source_of(const Piece& piece);
  void touch(uint32_t page);
  void look_ahead(Source& source, const Piece& piece);
  void foresee(Source& source, uint32_t page);
  void drop(Source& source, std::size_t touches);
  void inform(uint32_t page);

  Layout layout_;
  uint32_t frames_;
  uint32_t used_ = 0;
  std::vector<uint64_t> state_;
  InformedPolicy policy_;
  std::vector<FrameIndex> frame_of_;  // per page
  std::vector<uint32_t> page_in_;     // per frame in use
  std::unordered_map<uint64_t, Source> sources_;
  std::vector<Foreseen> foreseen_;
  Index free_;                       // first free element of foreseen_
  std::vector<Index> first_, last_;  // per page: its list
  std::size_t most_foreseen_;
  std::size_t informing_ = 0;  // sources with foreseen touches
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  int64_t evictions_ = 0;
};

}  // namespace forebay::sim
