// Numbers the steps that are done to a node's caches, so that a simulator can repeat them in the
// same order. With the option `deterministic`, steps take turns: one step at a time, and the
// numbers are their exact order. Without it, only recorded accesses draw a number, and the numbers
// tell the order roughly.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/node/registry.h"
#include "trace/routine.h"

namespace forebay::runtime {

enum class Numbering : uint8_t { none, drawn, turns };

// Lock order: a file's `access`, then a turn, then the registry's lock.
class Turn {
 public:
  Turn(Registry& registry, Numbering numbering);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  uint64_t sequence() const { return sequence_; }  // from 1; 0: none

 private:
  Registry* locked_ = nullptr;
  uint64_t sequence_ = 0;
};

using trace::CacheStep;

struct NumberedStep {
  CacheStep step;
  int64_t argument;  // join, resize: the file's size; truncate: the new size; leave: 1 to discard
  bool reads;        // join: the handle can read
  uint64_t sequence;
};

// This thread's steps since it last called forget(); noted with `deterministic` only. Only the
// first few are kept; a gap in the numbers shows that some are missing.
class NumberedSteps {
 public:
  static void note(const NumberedStep& step);
  static std::span<const NumberedStep> all();
  static void forget();
};

}  // namespace forebay::runtime
