// What one process will access next in a file, page by page, as its I/O signature tells: for a
// cache that evicts what is accessed last (policy `informed`). It does no I/O and knows no cache.
// It tells whoever keeps the future:
//
//   clock(page)            the time, in accesses to pages, by the clock of the page's shard
//   foresee(page, ahead)   the page will be accessed so many accesses of the shard from now on;
//                          returns when that will be, or 0: the page is not known
//   forget(page, when)     what was foreseen took place, or is void
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "predict/forecast.h"

namespace forebay {

struct ShardClock {
  uint32_t shard = 0;
  uint64_t now = 0;
};

class Foresight {
 public:
  // Accesses of at least `least_past` bytes go past the cache, and touch no page of it.
  Foresight(int64_t page_bytes, int64_t least_past)
      : page_bytes_(page_bytes), least_past_(least_past) {}

  // Takes an access that took place, and foresees others until `most` of their pages are foreseen.
  template <typename Future>
  void take(Extent access, std::size_t most, Future&& future) {
    if (!forecast_.take(access)) {
      forget_all(future);
    } else if (!accesses_.empty()) {
      happen(accesses_.front(), future);
      accesses_.pop_front();
    }
    const Pages pages = pages_of(access, taken_page_);
    if (pages.count > 0) keep_pace(pages.count, future.clock(pages.last));
    if (pages.last >= 0) taken_page_ = pages.last;
    if (accesses_.empty()) foreseen_page_ = taken_page_;
    look_ahead(most, future);
  }

 private:
  static constexpr std::size_t accesses_a_touch = 16;  // small accesses stay on their page
  // Foreseeing goes on at the next access, so that none takes long.
  static constexpr int most_touches_a_time = 64;
  // The pace follows the latest touches. A pause is no slower pace.
  static constexpr double paced_touches = 512;
  static constexpr double most_paces = 4;

  // The pages that an access touches after another has touched the page `before`.
  struct Pages {
    int64_t first = 0;
    int64_t last = -1;  // -1: the access goes past the cache
    int64_t count = 0;
  };
  Pages pages_of(Extent access, int64_t before) const {
    const int64_t first = access.offset / page_bytes_;
    const int64_t last = (access.end() - 1) / page_bytes_;
    const bool stays = first == before;
    if (!(stays && first == last) && access.length >= least_past_) return {};
    const int64_t begin = stays ? first + 1 : first;
    return {begin, last, last - begin + 1};
  }

  // A touch that is foreseen. Of each page only the next touch is told.
  struct Touch {
    int64_t page;
    uint64_t when = 0;  // 0: it is not told
    uint64_t next = 0;  // number of the page's next touch; 0: there is none
  };
  Touch& touch(uint64_t number) { return touches_[number - happened_ - 1]; }
  uint64_t latest() const { return happened_ + touches_.size(); }

  // How far off the touch with this number is, in accesses that the shards see.
  double ahead(uint64_t number) const { return static_cast<double>(number - happened_) * pace_; }

  // The next touches take place.
  template <typename Future>
  void happen(uint64_t touches, Future& future) {
    for (; touches > 0; --touches) {
      const Touch over = touches_.front();
      touches_.pop_front();
      ++happened_;
      if (over.when > 0) future.forget(over.page, over.when);
      if (over.next > 0)
        touch(over.next).when = future.foresee(over.page, ahead(over.next));
      else
        last_touch_.erase(over.page);
    }
  }

  // All that is foreseen is void.
  template <typename Future>
  void forget_all(Future& future) {
    for (const Touch& touch : touches_) {
      if (touch.when > 0) future.forget(touch.page, touch.when);
    }
    happened_ = latest();
    touches_.clear();
    accesses_.clear();
    last_touch_.clear();
  }

  // How many accesses the shards see for each of this process.
  void keep_pace(int64_t touches, ShardClock clock) {
    touched_ += touches;
    if (clock.shard >= seen_.size()) seen_.resize(clock.shard + 1);
    Seen& seen = seen_[clock.shard];
    if (seen.touched > 0) {
      const double step =
          static_cast<double>(clock.now - seen.now) / static_cast<double>(touched_ - seen.touched);
      paced_ = std::min(paced_ + static_cast<double>(touches), paced_touches);
      pace_ += (std::min(step, most_paces * pace_) - pace_) * static_cast<double>(touches) / paced_;
    }
    seen = {clock.now, touched_};
  }

  template <typename Future>
  void look_ahead(std::size_t most, Future& future) {
    int left = most_touches_a_time;
    Extent next;
    while (left > 0 && touches_.size() < most && accesses_.size() < accesses_a_touch * most &&
           forecast_.foresee(&next)) {
      Pages pages = pages_of(next, foreseen_page_);
      if (pages.last >= 0) foreseen_page_ = pages.last;
      // Of an access that is longer, the end is not foreseen.
      pages.count = std::min(pages.count, static_cast<int64_t>(most));
      for (int64_t page = pages.first; page < pages.first + pages.count; ++page, --left)
        add_touch(page, future);
      accesses_.push_back(static_cast<uint32_t>(pages.count));
    }
  }

  template <typename Future>
  void add_touch(int64_t page, Future& future) {
    touches_.push_back({page});
    uint64_t& last = last_touch_[page];
    if (last > 0)
      touch(last).next = latest();
    else
      touches_.back().when = future.foresee(page, ahead(latest()));
    last = latest();
  }

  const int64_t page_bytes_;
  const int64_t least_past_;
  Forecast forecast_;
  std::deque<uint32_t> accesses_;  // that are foreseen: how many touches each makes
  std::deque<Touch> touches_;      // of all of these; they are numbered, from happened_ + 1 on
  uint64_t happened_ = 0;          // touches that were foreseen before these
  std::unordered_map<int64_t, uint64_t> last_touch_;  // of each page in touches_, its number
  int64_t taken_page_ = -1;                           // of the last access that took place
  int64_t foreseen_page_ = -1;  // of the last access that took place, or is foreseen
  int64_t touched_ = 0;         // pages, by this process
  struct Seen {
    uint64_t now = 0;
    int64_t touched = 0;
  };
  std::vector<Seen> seen_;  // of each shard, when this process last touched a page of it
  double pace_ = 1;
  double paced_ = 0;  // touches that the pace is the mean of
};

}  // namespace forebay
