// What a handle fetches ahead next if its reads go on as now: a row of extents. Ranks often read
// the records of a file in turn, so that the rows of a node's handles lie between each other, and
// each row alone would leave as many small requests. So a handle offers its row before it needs it,
// and whoever fetches ahead beside it takes it along: the rows leave as few large requests (Chen
// 2010; Yin 2012, V.A).
//
// One handle offers its rows, one after the other; the file's other handles look at them, and take
// them. Nobody waits for anybody, so a process may die at any place.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "predict/predictor.h"

namespace forebay {

class NextReads {
 public:
  NextReads() = default;
  // A copy of a handle offers nothing.
  NextReads(const NextReads&) {}
  NextReads& operator=(const NextReads&) {
    withdraw();
    return *this;
  }

  // For the handle that offers.
  bool offered() const { return is_offer(state_.load(std::memory_order_relaxed)); }
  // No row is offered.
  void offer(const ReadRow& row) {
    first_.store(row.first.offset, std::memory_order_relaxed);
    length_.store(row.first.length, std::memory_order_relaxed);
    step_.store(row.step, std::memory_order_relaxed);
    count_.store(row.count, std::memory_order_relaxed);
    state_.store(state_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // What is offered, if anything, is not offered any more. Somebody may have taken it just now.
  void withdraw() {
    uint64_t state = state_.load(std::memory_order_relaxed);
    if (is_offer(state)) state_.compare_exchange_strong(state, state + 1);
  }

  // For others. What is offered, and its number.
  struct Offer {
    ReadRow row;
    uint64_t number;
  };
  std::optional<Offer> look() const {
    const uint64_t state = state_.load(std::memory_order_acquire);
    if (!is_offer(state)) return std::nullopt;
    return Offer{{{first_.load(std::memory_order_relaxed), length_.load(std::memory_order_relaxed)},
                  step_.load(std::memory_order_relaxed),
                  count_.load(std::memory_order_relaxed)},
                 state};
  }
  // Takes the row that look() has shown. False: it is not offered any more.
  bool take(const Offer& offer) {
    uint64_t state = offer.number;
    return state_.compare_exchange_strong(state, state + 1);
  }

 private:
  static bool is_offer(uint64_t state) { return state % 2 == 1; }

  std::atomic<uint64_t> state_{0};  // odd: a row is offered; it never falls
  std::atomic<int64_t> first_{0}, length_{0}, step_{0}, count_{0};
};

}  // namespace forebay
