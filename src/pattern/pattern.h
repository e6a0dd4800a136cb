// A pattern: an access, or a loop around patterns, to any depth. Yin III.B ("local I/O signature"),
// with loops nested instead of listed.
//
// A loop moves each of its accesses by equal steps: in iteration i an access is at offset + i *
// step. An access within several loops has a step for each loop, so
//
//   for (i < 100) { read 16 at 512 * i;  for (j < 8) read 64 at 4096 + 65536 * i + 1024 * j; }
//
// is {count 100, body [{read, 16 at 0, steps [512]},
//                     {count 8, body [{read, 64 at 4096, steps [1024, 65536]}]}]}.
//
// Offsets and sizes are any 64-bit numbers. Arithmetic on them wraps around.
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
  uint8_t operation = 0;  // number of the routine, assigned by the caller

  bool operator==(const Access&) const = default;
};

// The change of an access from one iteration of a loop to the next.
struct Step {
  int64_t offset = 0;
  int64_t size = 0;

  bool operator==(const Step&) const = default;
};

// Nanoseconds between the starts of successive iterations, over all runs of a loop.
struct Intervals {
  uint64_t count = 0;
  int64_t least_ns = 0;
  int64_t most_ns = 0;
  int64_t origin_ns = 0;  // the first interval; the sums are of differences to it, which stay small
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
  // An access, as in the first iteration of every loop around it.
  int64_t offset = 0;
  int64_t size = 0;
  uint8_t operation = 0;
  std::vector<Step> steps;  // one per loop around it, innermost first

  // A loop: its body, in order, `count` times.
  uint64_t count = 0;
  std::vector<Pattern> body;
  Intervals intervals;

  bool is_loop() const { return !body.empty(); }
  const Pattern& first_access() const { return is_loop() ? body.front().first_access() : *this; }

  uint64_t accesses() const;   // in all iterations
  uint32_t depth() const;      // of nested loops; 0 for an access
  uint64_t structure() const;  // hash of everything but the offsets, sizes and times of the first
                               // iteration
  std::size_t memory_bytes() const;

  // Whether the accesses are the same; times may differ.
  bool same_accesses(const Pattern& other) const;

  void move(int64_t distance);  // moves every access by `distance` bytes
  void forget_times();
  void add_times(const Pattern& other);  // `other` has the same structure

  // Keeps only the loops within the pattern. The loops around it are fixed at the given iterations,
  // innermost first.
  void bind(std::span<const uint64_t> iterations, std::size_t loops_within = 0);
};

// Whether c follows b as b follows a: the structures are equal, and each access moves by equal
// steps.
bool in_progression(const Pattern& a, const Pattern& b, const Pattern& c);

// Whether `longer` equals `loop` except for a larger or equal count.
bool same_body(const Pattern& loop, const Pattern& longer);

}  // namespace forebay::pattern
