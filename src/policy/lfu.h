// Least frequently used (Lu 3.4): frames by the number of accesses since their page came. Of those
// with the fewest, the one that has had that number the longest goes.
//
// A list of classes, one for each number of accesses that some frame has, ascending; each holds its
// frames, last come last. A frame moves to the next class with every access.
#pragma once

#include "policy/links.h"

namespace forebay {

class LfuPolicy final : public Policy {
 public:
  static std::size_t state_bytes(uint32_t frames);
  static std::unique_ptr<Policy> attach(void* state, uint32_t frames);

  LfuPolicy(void* state, uint32_t frames);

  void reset() override;
  void hit(FrameIndex frame, PageKey key) override;
  void insert(FrameIndex frame, PageKey key) override;
  void replace(FrameIndex frame, PageKey old, PageKey key) override;
  void prefetch(FrameIndex frame) override { links_.prefetch(frame); }
  void remove(FrameIndex frame, PageKey key) override;
  FrameIndex victim(PageKey incoming, const Candidates& candidates) override;

 private:
  using ClassIndex = uint32_t;
  struct Class {
    uint64_t accesses;
    ClassIndex next_free;
    uint32_t padding;
  };
  struct State {
    ClassIndex first_free;
    uint32_t padding;
  };

  FrameIndex ring_of(ClassIndex c) const { return frames_ + c; }  // in links_
  ClassIndex class_ring() const { return frames_; }               // in class_links_
  ClassIndex new_class(ClassIndex after, uint64_t accesses);
  void leave(FrameIndex frame);

  uint32_t frames_;
  State* state_;
  Class* classes_;     // as many as frames
  Links links_;        // frames, then the rings of classes
  Links class_links_;  // classes, then their ring
  ClassIndex* class_of_;
};

}  // namespace forebay
