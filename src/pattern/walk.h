// Steps through the accesses of a pattern without expanding it. Costs a comparison and two
// additions per access within a repeated body of accesses, and a multiplication per loop level at
// its end.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "pattern/pattern.h"

namespace forebay::pattern {

class Walk {
 public:
  enum class End { at_count, never };

  Walk() = default;  // done
  // Begins at the first access of an iteration of `pattern`. The pattern must outlive the walk;
  // only its count and its times may change.
  explicit Walk(const Pattern& pattern, uint64_t iteration = 0, End end = End::at_count);

  bool done() const { return at_ == slots_.size(); }
  Access access() const {
    const Slot& slot = slots_[at_];
    return {slot.offset, slot.size, slot.operation};
  }
  void advance() {
    Slot& slot = slots_[at_];
    slot.offset = plus(slot.offset, slot.step.offset);
    slot.size = plus(slot.size, slot.step.size);
    if (++at_ == slots_.size()) next_round();
  }
  // Goes forward to the access with this index, counted from 0, or to the end.
  void seek(uint64_t index);

 protected:
  // A loop that the walk is in. The outermost loop is frames_.front().
  struct Frame {
    const Pattern* loop;
    uint64_t iteration;
    uint64_t count;
    std::size_t item;                   // index in the body
    int64_t started_ns = unknown_time;  // start of this iteration
  };
  // The next access of one place in the body. If the innermost body consists of accesses only,
  // there is a slot per place, otherwise one slot.
  struct Slot {
    int64_t offset;
    int64_t size;
    Step step;
    uint8_t operation;
  };
  struct Place {
    uint64_t iteration;
    std::size_t item;
  };

  Place place(std::size_t level) const;
  std::vector<uint64_t> iterations_down_to(std::size_t levels) const;  // innermost first
  void descend();
  void next_item();

  std::vector<Frame> frames_;
  std::vector<Slot> slots_;
  std::size_t at_ = 0;
  uint64_t rounds_left_ = 0;  // rounds through the slots, the current one included
  bool straight_ = false;     // the innermost body consists of accesses only, and each has its slot

 private:
  void next_round() {
    at_ = 0;
    if (--rounds_left_ == 0) leave();
  }
  void leave();
  void load(std::size_t first, std::size_t count);
};

// A walk through the predicted iterations of a loop, while the accesses happen.
class Follower : public Walk {
 public:
  Follower() = default;
  // The next expected access begins `iteration`; the iteration before began at `previous_start_ns`.
  Follower(Pattern& loop, uint64_t iteration, int64_t previous_start_ns);

  bool expects(const Access& access) const {
    const Slot& slot = slots_[at_];
    return slot.offset == access.offset && slot.size == access.size &&
           slot.operation == access.operation;
  }
  // The expected access has happened.
  void pass(int64_t start_ns) {
    if (at_ == 0) begin_round(start_ns);
    advance();
  }
  // Passes the accesses of a whole loop if they are the expected ones; `loop` may be shorter than
  // the expected loop. Returns whether they are.
  bool pass_loop(const Pattern& loop, int64_t start_ns);

  uint64_t whole_iterations() const { return place(0).iteration; }
  int64_t iteration_start_ns() const { return frames_.front().started_ns; }
  // The accesses since the last whole iteration.
  std::vector<Pattern> remainder() const;

 private:
  // A round through the slots begins: usually the next iteration of the innermost loop.
  void begin_round(int64_t start_ns) {
    Frame& frame = frames_.back();
    if (straight_ && rounds_left_ != frame.count && frame.started_ns != unknown_time &&
        start_ns != unknown_time) [[likely]] {
      add_interval(frame, start_ns);
    } else {
      begin_iterations(start_ns);
    }
  }
  static void add_interval(Frame& frame, int64_t start_ns) {
    // The constructor's argument is not const, so the loop may be changed.
    const_cast<Pattern*>(frame.loop)->intervals.add(minus(start_ns, frame.started_ns));
    frame.started_ns = start_ns;
  }
  void begin_iterations(int64_t start_ns);
};

}  // namespace forebay::pattern
