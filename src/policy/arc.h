// Adaptive replacement (Megiddo and Modha, FAST 2003, figure 4): resident pages seen once lately
// (T1) and more than once (T2), ghosts of each (B1, B2), and a target for the size of T1 that moves
// towards the side whose ghosts come back.
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
  void replace(FrameIndex frame, PageKey old, PageKey key) override;
  void prefetch(FrameIndex frame) override { links_.prefetch(frame); }
  void prefetch_missing(PageKey key) override { ghosts_.prefetch(key); }
  void remove(FrameIndex frame, PageKey) override { unlink(frame); }
  FrameIndex victim(PageKey incoming, const Candidates& candidates) override;

 private:
  enum List : uint8_t { once, often };  // T1, T2; of ghosts B1, B2
  struct State {
    double target;  // size of T1, "p"
    uint32_t size[2];
  };

  FrameIndex ring_of(List list) const { return frames_ + list; }
  void push(List list, FrameIndex frame);
  void unlink(FrameIndex frame);
  // The target after `ghost` has come back.
  double adapted(Ghosts::GhostIndex ghost) const;
  // Adapts to the coming of a page and says where it belongs.
  List welcome(PageKey key);
  void limit_ghosts();

  uint32_t frames_;
  State* state_;
  Links links_;  // frames, then the two rings, most recent first
  Ghosts ghosts_;
  uint8_t* list_of_;
};

}  // namespace forebay
