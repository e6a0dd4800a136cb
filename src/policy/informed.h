// Replacement by the next access to each page, as far as it is foreseen or can be expected:
// Belady's MIN over a forecast. A page is evicted if its next access is the latest of all.
//
//   foreseen          a forecast tells when the page is accessed next
//   accessed before   the page is expected after as long as between its last two accesses (the
//                     recency between accesses of Jiang and Zhang's LIRS, SIGMETRICS 2002); the
//                     later, the fewer pages come that were accessed as often; if it does not come,
//                     after as long as it has not been accessed for
//   accessed once     likewise, after as long as between the first two accesses of other pages
//
// Times of accesses to evicted pages are remembered, so that a page that comes back is known. So
// are foreseen accesses to pages that are in no frame yet. Time is counted in accesses to the
// cache. An access takes time logarithmic in the number of frames; the state is in the arena.
#pragma once

#include <array>

#include "policy/policy.h"

namespace forebay {

class InformedPolicy final : public Policy {
 public:
  static std::size_t state_bytes(uint32_t frames);
  InformedPolicy(void* state, uint32_t frames);

  void reset() override;
  void hit(FrameIndex frame, PageKey key) override;
  void insert(FrameIndex frame, PageKey key) override;
  void replace(FrameIndex victim, PageKey old, FrameIndex frame, PageKey key) override;
  void remove(FrameIndex frame, PageKey key) override;
  FrameIndex victim(PageKey incoming, const Candidates& candidates) override;

  bool foresees() const override { return true; }
  uint64_t now() const override { return head_->now; }
  // Holds until the access is late by as long as it was foreseen before. If more accesses are
  // foreseen than can be remembered, the latest are not.
  void foresee(PageKey key, FrameIndex frame, uint64_t when) override;
  void forget(PageKey key, FrameIndex frame, uint64_t when) override;

 private:
  static constexpr uint32_t most_accesses = 3;  // that are told apart
  // Pages that were accessed so many times: how many came again, and how many did not.
  struct Class {
    uint64_t came;
    uint64_t stayed_away;
  };
  struct Head {
    uint64_t now;
    uint64_t first_interval;  // mean, between first two accesses; 0: there was none
    Class classes[most_accesses];
    uint32_t size;  // of the heap
    uint32_t hand;
  };
  struct Frame {
    uint64_t next;      // expected time of the next access
    uint64_t until;     // if it is foreseen: until when that is believed; otherwise 0
    uint64_t last;      // time of the last access
    uint64_t interval;  // between the last two accesses; 0: there was one
    uint64_t hash;      // of the page
    uint32_t place;     // in the heap; no_frame: the frame holds no page
    uint32_t accesses;  // at most most_accesses
  };
  // A page that was evicted. The oldest of a set makes room.
  struct Ghost {
    uint64_t hash;
    uint64_t last_and_accesses;  // the latter in the lowest two bits; 0: there is none
  };
  static constexpr uint32_t set_size = 4;
  static uint32_t ghosts_for(uint32_t frames);
  // A foreseen access.
  struct Coming {
    uint32_t tag;   // of the page; 0: there is none
    uint32_t when;  // the lower half of its time
  };
  static constexpr uint32_t coming_set_size = 8;
  static uint32_t coming_for(uint32_t frames);

  void enter(FrameIndex frame, PageKey key);
  void leave(FrameIndex frame, PageKey key, bool remembered);
  void came_again(Frame& frame, uint64_t last, uint32_t accesses);
  void count(uint32_t accesses, bool came);
  void expect_again(Frame& frame) const;
  void look_around();
  void inform(FrameIndex frame);
  std::span<Coming> coming_of(uint64_t hash) const {
    return {coming_ + (mix(hash) & coming_mask_) * coming_set_size, coming_set_size};
  }
  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32) | 1; }
  // How far off it is; negative: it is late.
  int64_t ahead(const Coming& coming) const {
    return static_cast<int32_t>(coming.when - static_cast<uint32_t>(head_->now));
  }
  Ghost* set_of(uint64_t hash) const { return ghosts_ + (hash & ghost_mask_) * set_size; }
  void moved(FrameIndex frame);
  void swap_places(uint32_t a, uint32_t b);

  uint32_t count_;
  Head* head_;
  Frame* frames_;
  Ghost* ghosts_;
  Coming* coming_;
  uint32_t* heap_;  // frames; the one with the latest next access first
  uint32_t ghost_mask_;
  uint32_t coming_mask_;
};

}  // namespace forebay
