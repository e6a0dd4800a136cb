// Adaptive replacement (Megiddo and Modha, FAST 2003, figure 4). T1 has the resident pages accessed
// once recently, T2 those accessed more than once; B1 and B2 have the ghosts of each. A target for
// the size of T1 moves toward the list whose ghosts come back.
#pragma once

#include "policy/ghosts.h"

namespace forebay {

class ArcPolicy final : public Policy {
 public:
  static std::size_t state_bytes(uint32_t frames);

  ArcPolicy(void* state, uint32_t frames);

  void reset() override;
  void hit(FrameIndex frame, PageKey key) override;
  void insert(FrameIndex frame, PageKey key) override;
  void replace(FrameIndex victim, PageKey old, FrameIndex frame, PageKey key) override;
  void prefetch(FrameIndex frame) override { links_.prefetch(frame); }
  void prefetch_missing(PageKey key) override { ghosts_.prefetch(key); }
  void remove(FrameIndex frame, PageKey) override { unlink(frame); }
  FrameIndex victim(PageKey incoming, const Candidates& candidates) override;

 private:
  enum List : uint8_t { once, often };  // T1, T2; their ghosts: B1, B2
  struct State {
    double target;  // target size of T1, "p"
    uint32_t size[2];
  };

  FrameIndex ring_of(List list) const { return frames_ + list; }
  void push(List list, FrameIndex frame);
  void unlink(FrameIndex frame);
  // The target after `ghost` came back.
  double adapted(Ghosts::GhostIndex ghost) const;
  // Adapts the target to an incoming page. Returns the list that the page belongs to.
  List welcome(PageKey key);
  void limit_ghosts();

  uint32_t frames_;
  State* state_;
  Links links_;  // links of the frames and of the two rings, most recent first
  Ghosts ghosts_;
  uint8_t* list_of_;
};

}  // namespace forebay
