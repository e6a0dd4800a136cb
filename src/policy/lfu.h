// Least frequently used (Lu 3.4): frames by the number of accesses since their page arrived. Among
// the frames with the fewest accesses, the victim is the one that has had this number for the
// longest time.
//
// All frames are in one ring in this order. Frames with the same number of accesses form a class, a
// stretch of the ring with known ends. An access moves a frame to the end of the next class.
#pragma once

#include "policy/links.h"

namespace forebay {

class LfuPolicy final : public Policy {
 public:
  static std::size_t state_bytes(uint32_t frames);

  LfuPolicy(void* state, uint32_t frames);

  void reset() override;
  void hit(FrameIndex frame, PageKey key) override;
  void insert(FrameIndex frame, PageKey key) override;
  void replace(FrameIndex victim, PageKey old, FrameIndex frame, PageKey key) override;
  void prefetch(FrameIndex frame) override { links_.prefetch(frame); }
  void remove(FrameIndex frame, PageKey key) override;
  FrameIndex victim(PageKey incoming, const Candidates& candidates) override;

 private:
  using ClassIndex = uint32_t;
  struct Class {
    uint64_t accesses;
    FrameIndex first;  // also the free list's link
    FrameIndex last;
  };
  struct State {
    ClassIndex first_free;
    uint32_t padding;
  };

  bool alone(const Class& of) const { return of.first == of.last; }
  // Whether the class of the frame has `accesses`; false for the ring itself.
  bool has(FrameIndex frame, uint64_t accesses) const {
    return frame != ring_ && classes_[class_of_[frame]].accesses == accesses;
  }
  void begin_class(FrameIndex frame, FrameIndex after, uint64_t accesses);
  void join_class(FrameIndex frame, ClassIndex joined);
  void leave(FrameIndex frame);

  FrameIndex ring_;  // the next victim first
  State* state_;
  Class* classes_;  // as many as frames
  Links links_;
  ClassIndex* class_of_;
};

}  // namespace forebay
