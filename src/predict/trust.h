// Whether it is worth telling a predictor of accesses. An access that was foreseen earns credit; a
// rule that failed costs more than one access earns. Without credit the predictor rests: it need
// not be told of the next accesses. Then it may fail a few times before it rests again, for longer.
#pragma once

#include <algorithm>
#include <cstdint>

namespace forebay {

class Trust {
 public:
  void foreseen() {
    if (credit_ < most_credit && ++credit_ == most_credit) rest_ = first_rest;
  }
  void failed() {
    credit_ -= cost_of_failure;
    if (credit_ > 0) return;
    credit_ = 8 * cost_of_failure;
    accesses_left_ = rest_;
    bytes_left_ = longest_rest_bytes;
    rest_ = std::min(2 * rest_, longest_rest);
  }

  // How many of the next accesses the predictor need not be told of, unless they are large.
  int64_t rests() const { return accesses_left_; }
  void rested(int64_t accesses, int64_t bytes) {
    accesses_left_ = std::max<int64_t>(accesses_left_ - accesses, 0);
    bytes_left_ -= bytes;
    if (bytes_left_ <= 0) accesses_left_ = 0;
  }

 private:
  static constexpr int64_t cost_of_failure = 8;
  static constexpr int64_t most_credit = 32 * cost_of_failure;
  static constexpr int64_t first_rest = 1 << 10;  // accesses
  static constexpr int64_t longest_rest = 1 << 14;
  // Telling a predictor costs nothing beside copying so many bytes.
  static constexpr int64_t longest_rest_bytes = 1 << 20;

  int64_t credit_ = most_credit;
  int64_t rest_ = first_rest;
  int64_t accesses_left_ = 0;
  int64_t bytes_left_ = 0;
};

}  // namespace forebay
