// Numbers the steps that are done to a node's caches, so that a simulator can repeat them in the
// same order. With the option `deterministic`, steps take turns: one step at a time, and the
// numbers are their exact order. Without it, only recorded accesses draw a number, and the numbers
// tell the order roughly.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "extent/layout.h"
#include "runtime/node/registry.h"
#include "trace/routine.h"

namespace forebay::runtime {

enum class Numbering : uint8_t { none, drawn, turns };

// Lock order: a file's `access`, then a turn, then the registry's lock.
class Turn {
 public:
  Turn(Registry& registry, Numbering numbering);
  ~Turn();
  Turn(Turn&& other) noexcept
      : locked_(std::exchange(other.locked_, nullptr)),
        registry_(other.registry_),
        sequence_(other.sequence_) {}
  Turn& operator=(Turn&&) = delete;

  uint64_t sequence() const { return sequence_; }  // from 1; 0: none
  // From now on sequence() is that of a further step in the same turn.
  void next();

 private:
  void draw();

  Registry* locked_ = nullptr;
  Registry* const registry_;
  uint64_t sequence_ = 0;
};

using trace::AtLeave;
using trace::CacheStep;

struct NumberedStep {
  CacheStep step{};
  // Join, resize: the file's size; truncate: the new size; leave: 1 to discard; of reads, writes
  // and ranges: the position in the view. More in docs/trace-format.md.
  int64_t argument = 0;
  int64_t bytes = 0;  // of reads, writes and ranges; join: 1 if the handle can read
  uint64_t sequence = 0;
  // The number of the other node's cache that took the step; 0: of this node's. Share, with `bytes`
  // 1: this node's cache has this number.
  uint64_t cache = 0;
  Tiling view;  // of reads and writes; no layout: all bytes of the file
};

// This thread's steps since begin(); noted with `deterministic` only, and only until end(). A gap
// in the numbers shows that some are missing.
class NumberedSteps {
 public:
  static void begin();
  static void note(const NumberedStep& step);
  // What was noted.
  static std::vector<NumberedStep> end();
};

}  // namespace forebay::runtime
