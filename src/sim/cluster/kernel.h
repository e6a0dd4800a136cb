// The clock of a simulated cluster and the calendar of what will happen in it. One thread; the same
// calls give the same run on every machine: what is set for the same time happens in the order in
// which it was set. Nothing is allocated for an event, except that the calendar grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace forebay::sim {

// A time or a duration. A run lasts at most 106 days.
using Picoseconds = int64_t;
inline constexpr Picoseconds nanosecond = 1'000, microsecond = 1'000'000;
inline constexpr Picoseconds millisecond = 1'000'000'000, second = 1'000'000'000'000;

// How long `bytes` take at so many bytes a second.
inline Picoseconds time_of(int64_t bytes, double bytes_per_second) {
  return static_cast<Picoseconds>(
      static_cast<double>(bytes) / bytes_per_second * static_cast<double>(second) + 0.5);
}

// A part of the cluster to which something happens. It outlives what was set for it.
class Event {
 public:
  // `word`: as it was given when this was set.
  virtual void happen(uint64_t word) = 0;

 protected:
  ~Event() = default;
};

// What is to happen once some work is done.
struct Then {
  Event* event = nullptr;  // null: nothing
  uint64_t word = 0;
  void happen() const {
    if (event != nullptr) event->happen(word);
  }
};

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  Picoseconds now() const { return now_; }
  // Sets an event for a time that is not in the past, or for `delay` from now.
  void at(Picoseconds time, Then then);
  void after(Picoseconds delay, Then then) { at(now_ + delay, then); }
  // Lets happen what is set, until nothing is, or `most` events have happened. False: some are
  // left.
  bool run(uint64_t most = UINT64_MAX);

  uint64_t happened() const { return happened_; }
  // Lets an event happen at this time, if anything else happens then or later, and before that. It
  // may only look, and call watch() again; it counts as nothing that happened.
  void watch(Picoseconds time, Event& watcher) {
    watcher_ = &watcher;
    watch_at_ = time;
  }

 private:
  struct Entry {
    Picoseconds time;
    uint64_t order;
    Then then;
    bool before(const Entry& other) const {
      return time != other.time ? time < other.time : order < other.order;
    }
  };
  static constexpr std::size_t children = 4;  // of an entry of the heap
  Entry take_first();

  void let_watch(Picoseconds until);

  std::vector<Entry> heap_;  // the first entry happens next
  Event* watcher_ = nullptr;
  Picoseconds watch_at_ = std::numeric_limits<Picoseconds>::max();
  Picoseconds now_ = 0;
  uint64_t set_ = 0;
  uint64_t happened_ = 0;
};

}  // namespace forebay::sim
