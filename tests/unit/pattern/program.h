// Programs of nested loops and their accesses, for tests of folding.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "pattern/classify.h"
#include "pattern/folder.h"
#include "pattern/signature.h"

namespace forebay::pattern::test {

using AccessList = std::vector<Access>;

inline const std::array<Operation, 2> operations{{{"READ", false}, {"WRITE", true}}};

inline Signature fold(const AccessList& accesses, Limits limits = {}) {
  Folder folder(limits);
  for (const Access& access : accesses) folder.add(access);
  return folder.finish();
}

inline AccessList expanded(const Signature& signature, uint64_t index = 0) {
  AccessList accesses;
  Cursor cursor(signature, index);
  for (Access access; cursor.next(access);) accesses.push_back(access);
  return accesses;
}

// A level of a loop nest: its count, and the step by which it moves everything within.
struct Level {
  int64_t count;
  int64_t step;
};

// The accesses of a nest of loops, outermost first, around one access.
inline void nest(AccessList& accesses, const std::vector<Level>& levels, Access access,
                 std::size_t level = 0) {
  if (level == levels.size()) {
    accesses.push_back(access);
    return;
  }
  for (int64_t i = 0; i < levels[level].count; ++i) {
    nest(accesses, levels, access, level + 1);
    access.offset = plus(access.offset, levels[level].step);
  }
}

inline AccessList nest(const std::vector<Level>& levels, Access access) {
  AccessList accesses;
  nest(accesses, levels, access);
  return accesses;
}

// Random loop nests: bodies of several accesses and loops; steps of either sign or zero, different
// for each access; growing sizes; offsets anywhere in 64 bits.
class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : random_(seed) {}

  AccessList accesses(std::size_t at_least) {
    AccessList all;
    while (all.size() < at_least) {
      if (below(4) == 0) {
        for (uint64_t i = below(20); i-- > 0;) all.push_back(any_access());
      } else {
        run(loop(1 + below(4), 1), all);
      }
    }
    return all;
  }

  // A loop of loops, at most `depth` levels, each with a count of at least `least_count`.
  Pattern loop(uint64_t depth, uint64_t least_count) { return loop(depth, least_count, 0); }

  // Independent of Walk: plain recursion.
  static void run(const Pattern& pattern, AccessList& all) {
    std::vector<uint64_t> iterations;
    run(pattern, iterations, all);
  }

  uint64_t below(uint64_t limit) { return random_() % limit; }

 private:
  int64_t any_number() {
    switch (below(6)) {
      case 0:
        return 0;
      case 1:
        return static_cast<int64_t>(random_());
      case 2:
        return std::numeric_limits<int64_t>::max() - static_cast<int64_t>(below(100'000));
      case 3:
        return -static_cast<int64_t>(below(10'000));
      default:
        return static_cast<int64_t>(below(8)) * 512;
    }
  }
  Access any_access() {
    return {any_number(), static_cast<int64_t>(below(5)) * 100, static_cast<uint8_t>(below(3))};
  }
  Pattern loop(uint64_t depth, uint64_t least_count, std::size_t around) {
    Pattern pattern;
    pattern.count = least_count + below(9);
    for (uint64_t i = 0; i < 1 + below(3); ++i) {
      if (depth > 1 && below(2) == 0) {
        pattern.body.push_back(loop(depth - 1, least_count, around + 1));
        continue;
      }
      Pattern access;
      const Access any = any_access();
      access.offset = any.offset;
      access.size = any.size;
      access.operation = any.operation;
      for (std::size_t level = 0; level <= around; ++level) {
        access.steps.push_back({any_number(), below(5) == 0 ? any_number() : 0});
      }
      pattern.body.push_back(std::move(access));
    }
    return pattern;
  }
  static void run(const Pattern& pattern, std::vector<uint64_t>& iterations, AccessList& all) {
    if (pattern.is_loop()) {
      iterations.insert(iterations.begin(), 0);
      for (uint64_t i = 0; i < pattern.count; ++i) {
        iterations.front() = i;
        for (const Pattern& part : pattern.body) run(part, iterations, all);
      }
      iterations.erase(iterations.begin());
      return;
    }
    Access access{pattern.offset, pattern.size, pattern.operation};
    for (std::size_t level = 0; level < iterations.size(); ++level) {
      const Step& step = pattern.steps[level];
      access.offset = plus(access.offset, times(step.offset, iterations[level]));
      access.size = plus(access.size, times(step.size, iterations[level]));
    }
    all.push_back(access);
  }

  std::mt19937_64 random_;
};

}  // namespace forebay::pattern::test
