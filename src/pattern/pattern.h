// What a run of accesses has in common: an access, or a loop around patterns, to any depth.
// Yin III.B ("local I/O signature"), with the loops nested instead of listed.
//
// In a loop everything moves evenly: in iteration i an access lies at offset + i * step. An access
// within several loops has a step for each of them, so
//
//   for (i < 100) { read 16 at 512 * i;  for (j < 8) read 64 at 4096 + 65536 * i + 1024 * j; }
//
// is {count 100, body [{read, 16 at 0, steps [512]},
//                      {count 8, body [{read, 64 at 4096, steps [1024, 65536]}]}]}.
//
// Offsets and sizes are any 64-bit numbers; all arithmetic on them wraps, so none is refused.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay::pattern {

inline constexpr int64_t unknown_time = -1;

inline int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t times(int64_t a, uint64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * b);
}

struct Access {
  int64_t offset = 0;     // bytes from the start of the file
  int64_t size = 0;       // bytes
  uint8_t operation = 0;  // number of the routine, as the caller counts them

  bool operator==(const Access&) const = default;
};

// What an access changes by from one iteration of a loop to the next.
struct Step {
  int64_t offset = 0;
  int64_t size = 0;

  bool operator==(const Step&) const = default;
};

// Nanoseconds between the starts of one iteration and the next, over all runs of a loop.
struct Intervals {
  uint64_t count = 0;
  int64_t least_ns = 0;
  int64_t most_ns = 0;
  int64_t origin_ns = 0;  // the first one; sums are of differences from it, which stay small
  double sum = 0;
  double sum_of_squares = 0;

  void add(int64_t interval_ns) {
    if (count == 0) origin_ns = least_ns = most_ns = interval_ns;
    ++count;
    least_ns = std::min(least_ns, interval_ns);
    most_ns = std::max(most_ns, interval_ns);
    const auto difference = static_cast<double>(minus(interval_ns, origin_ns));
    sum += difference;
    sum_of_squares += difference * difference;
  }
  void add(const Intervals& other);
  double mean_ns() const;
  double deviation_ns() const;  // standard deviation
  bool fixed() const;           // the deviation is at most a tenth of the mean
};

struct Pattern {
  // An access, in the first iteration of every loop around it.
  int64_t offset = 0;
  int64_t size = 0;
  uint8_t operation = 0;
  std::vector<Step> steps;  // of the loops around it, innermost first

  // A loop: `count` times its body, in order.
  uint64_t count = 0;
  std::vector<Pattern> body;
  Intervals intervals;

  bool is_loop() const { return !body.empty(); }
  const Pattern& first_access() const { return is_loop() ? body.front().first_access() : *this; }

  uint64_t accesses() const;   // in all iterations
  uint32_t depth() const;      // of the loops in it, 0 for an access
  uint64_t structure() const;  // hash of all but offsets, sizes and times of the first iteration
  std::size_t memory_bytes() const;

  // The same accesses, whenever they are made.
  bool same_accesses(const Pattern& other) const;

  void move(int64_t distance);  // every access by so many bytes
  void forget_times();
  void add_times(const Pattern& other);  // of equal structure

  // Leaves only the loops within the pattern, those around it being in the iterations given,
  // innermost first.
  void bind(std::span<const uint64_t> iterations, std::size_t loops_within = 0);
};

// Whether c follows b as b follows a: equal structure, each access moved by an equal step.
bool in_progression(const Pattern& a, const Pattern& b, const Pattern& c);

// Whether `longer` begins with what `loop` does: equal in all but the count.
bool same_body(const Pattern& loop, const Pattern& longer);

}  // namespace forebay::pattern
