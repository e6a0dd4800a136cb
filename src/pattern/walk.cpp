#include "pattern/walk.h"

#include <utility>

namespace forebay::pattern {

namespace {

constexpr uint64_t endless = std::numeric_limits<uint64_t>::max();

bool has_only_accesses(const Pattern& loop) {
  return std::none_of(loop.body.begin(), loop.body.end(),
                      [](const Pattern& part) { return part.is_loop(); });
}

}  // namespace

Walk::Walk(const Pattern& pattern, uint64_t iteration, End end) {
  if (!pattern.is_loop()) {
    slots_.push_back({pattern.offset, pattern.size, {}, pattern.operation});
    rounds_left_ = 1;
    return;
  }
  frames_.push_back({&pattern, iteration, end == End::never ? endless : pattern.count, 0});
  if (iteration < frames_.back().count) descend();
}

// The position in the loop of a level. While the slots are a whole body, the slots hold it.
Walk::Place Walk::place(std::size_t level) const {
  const Frame& frame = frames_[level];
  if (straight_ && level + 1 == frames_.size()) return {frame.count - rounds_left_, at_};
  return {frame.iteration, frame.item};
}

std::vector<uint64_t> Walk::iterations_down_to(std::size_t levels) const {
  std::vector<uint64_t> iterations(levels);
  for (std::size_t i = 0; i < levels; ++i) iterations[levels - 1 - i] = place(i).iteration;
  return iterations;
}

// Descends from an item of the innermost frame to its first access.
void Walk::descend() {
  for (;;) {
    const Frame& frame = frames_.back();
    if (has_only_accesses(*frame.loop)) {
      straight_ = true;
      at_ = frame.item;
      rounds_left_ = frame.count - frame.iteration;
      load(0, frame.loop->body.size());
      return;
    }
    const Pattern& part = frame.loop->body[frame.item];
    if (!part.is_loop()) {
      straight_ = false;
      at_ = 0;
      rounds_left_ = 1;
      load(frame.item, 1);
      return;
    }
    frames_.push_back({&part, 0, part.count, 0});
  }
}

void Walk::load(std::size_t first, std::size_t count) {
  slots_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Pattern& access = frames_.back().loop->body[first + i];
    Slot& slot = slots_[i];
    slot = {access.offset, access.size, access.steps.front(), access.operation};
    for (std::size_t level = 0; level < frames_.size(); ++level) {
      const Frame& frame = frames_[frames_.size() - 1 - level];
      const Step& step = access.steps[level];
      slot.offset = plus(slot.offset, times(step.offset, frame.iteration));
      slot.size = plus(slot.size, times(step.size, frame.iteration));
    }
    if (i < at_) {  // passed in this iteration
      slot.offset = plus(slot.offset, slot.step.offset);
      slot.size = plus(slot.size, slot.step.size);
    }
  }
}

// All rounds through the slots are done.
void Walk::leave() {
  if (straight_) frames_.pop_back();
  next_item();
}

void Walk::next_item() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (++frame.item < frame.loop->body.size()) return descend();
    frame.item = 0;
    if (++frame.iteration < frame.count) return descend();
    frames_.pop_back();
  }
  slots_.clear();
  at_ = 0;
}

void Walk::seek(uint64_t index) {
  frames_.resize(std::min<std::size_t>(frames_.size(), 1));
  if (frames_.empty() && index == 0) return;
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    uint64_t each = 0;
    for (const Pattern& part : frame.loop->body) each += part.accesses();
    frame.iteration = index / each;
    frame.item = 0;
    if (frame.iteration >= frame.count) break;  // only the outermost loop gets here
    index %= each;
    for (; index >= frame.loop->body[frame.item].accesses(); ++frame.item) {
      index -= frame.loop->body[frame.item].accesses();
    }
    const Pattern& part = frame.loop->body[frame.item];
    if (!part.is_loop()) return descend();
    frames_.push_back({&part, 0, part.count, 0});
  }
  frames_.clear();
  slots_.clear();
  at_ = 0;
}

Follower::Follower(Pattern& loop, uint64_t iteration, int64_t previous_start_ns)
    : Walk(loop, iteration, End::never) {
  frames_.front().started_ns = previous_start_ns;
}

// The next access is the first in an iteration of the innermost loop, and of each loop around it
// whose iteration begins with it.
void Follower::begin_iterations(int64_t start_ns) {
  for (std::size_t level = frames_.size(); level-- > 0;) {
    const Place at = place(level);
    if (at.item != 0) return;
    Frame& frame = frames_[level];
    if (at.iteration > 0 && frame.started_ns != unknown_time && start_ns != unknown_time) {
      add_interval(frame, start_ns);
    }
    frame.started_ns = start_ns;
    if (at.iteration > 0) return;
  }
}

bool Follower::pass_loop(const Pattern& loop, int64_t start_ns) {
  std::size_t level = frames_.size();  // level of the outermost loop that begins here
  while (level > 1 && place(level - 1).iteration == 0 && place(level - 1).item == 0) --level;
  for (; level < frames_.size(); ++level) {
    const Pattern& expected = *frames_[level].loop;
    if (loop.count > expected.count || loop.body.size() != expected.body.size()) continue;
    Pattern here = expected;
    here.bind(iterations_down_to(level));
    if (!same_body(loop, here)) continue;
    begin_iterations(start_ns);
    const_cast<Pattern&>(expected).add_times(loop);
    if (loop.count == expected.count) {
      frames_.resize(level);
      next_item();
    } else {
      frames_.resize(level + 1);
      frames_.back().iteration = loop.count;
      frames_.back().item = 0;
      frames_.back().started_ns = unknown_time;
      descend();
    }
    return true;
  }
  return false;
}

std::vector<Pattern> Follower::remainder() const {
  std::vector<Pattern> parts;
  const auto append = [&](const Pattern& pattern, std::span<const uint64_t> iterations) {
    parts.push_back(pattern);
    parts.back().bind(iterations);
    parts.back().forget_times();
  };
  for (std::size_t level = 0; level < frames_.size(); ++level) {
    const Pattern& loop = *frames_[level].loop;
    const Place at = place(level);
    std::vector<uint64_t> iterations = iterations_down_to(level + 1);
    if (level > 0 && at.iteration >= 3) {
      append(loop, std::span(iterations).subspan(1));
      parts.back().count = at.iteration;
    } else if (level > 0) {
      for (iterations[0] = 0; iterations[0] < at.iteration; ++iterations[0]) {
        for (const Pattern& part : loop.body) append(part, iterations);
      }
    }
    for (std::size_t i = 0; i < at.item; ++i) append(loop.body[i], iterations);
  }
  return parts;
}

}  // namespace forebay::pattern
