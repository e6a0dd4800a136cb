// Numbers for what is done to a node's caches, so that it can be done again in the same order (in a
// simulator). With the option `deterministic` everything takes its turn: one thing at a time, and
// its number says when. Otherwise a number is only drawn, where somebody asks for one, and says
// roughly when.
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
  int64_t argument;  // join, resize: the file's size; truncate: the new one; leave: 1 to discard
  bool reads;        // join: the handle can read
  uint64_t sequence;
};

// This thread's steps since it last forgot them, with `deterministic` only. Beyond a few they are
// not kept; the gap in the numbers tells.
class NumberedSteps {
 public:
  static void note(const NumberedStep& step);
  static std::span<const NumberedStep> all();
  static void forget();
};

}  // namespace forebay::runtime
