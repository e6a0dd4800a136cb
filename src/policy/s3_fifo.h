// S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: SOSP 2023): a small and a main queue, and a queue of
// ghosts. A new page goes to the small queue, a tenth of the frames. If it has been accessed twice
// when it reaches the end of that queue, it moves to the main queue; otherwise it is evicted and
// becomes a ghost. The number of ghosts is at most 0.9 times that of the frames; the oldest is
// forgotten first. A ghost that comes back goes to the main queue at once. Accessed pages go round
// in the main queue.
#pragma once

#include "policy/ghosts.h"

namespace forebay {

class S3FifoPolicy final : public Policy {
 public:
  static std::size_t state_bytes(uint32_t frames);

  S3FifoPolicy(void* state, uint32_t frames);

  void reset() override;
  void hit(FrameIndex frame, PageKey key) override;
  void insert(FrameIndex frame, PageKey key) override;
  void replace(FrameIndex victim, PageKey old, FrameIndex frame, PageKey key) override;
  void prefetch(FrameIndex frame) override { __builtin_prefetch(&pages_[frame]); }
  void prefetch_missing(PageKey key) override { ghosts_.prefetch(key); }
  void remove(FrameIndex frame, PageKey key) override;
  FrameIndex victim(PageKey incoming, const Candidates& candidates) override;

 private:
  enum Queue : uint8_t { small, main };
  struct State {
    uint32_t size[2];
    FrameIndex chosen;  // the last victim named, until it is replaced or used
    uint8_t has_evicted;
    uint8_t padding[3];
  };
  struct Page {
    Queue queue;
    uint8_t accesses;  // since the page came to the queue, at most `most_accesses`
  };

  static uint32_t small_frames(uint32_t frames) { return frames < 20 ? 1 : frames / 10; }
  static uint32_t ghosts_for(uint32_t frames) {
    return static_cast<uint32_t>(uint64_t{frames} * 9 / 10);
  }
  FrameIndex ring_of(Queue queue) const { return frames_ + queue; }
  void push(Queue queue, FrameIndex frame, uint8_t accesses);
  void unlink(FrameIndex frame);
  FrameIndex end_of_small(const Candidates& candidates);
  FrameIndex end_of_main(const Candidates& candidates);

  uint32_t frames_;
  State* state_;
  Links links_;  // links of the frames and of the two queues, newest first
  Ghosts ghosts_;
  Page* pages_;
};

}  // namespace forebay
