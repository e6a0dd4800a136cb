// Predicts reads that repeat in an order that no rule describes, like the records of an
// unstructured mesh in every time step. It remembers which access followed each pair of accesses (a
// Markov chain of order two; Chen 2010 III.B names such predictors), and follows this chain ahead.
//
// Until it knows what follows, the sequential predictor leads.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "predict/fetch_list.h"
#include "predict/predictor.h"
#include "predict/sequential.h"
#include "predict/trust.h"
#include "predict/window.h"

namespace forebay {

class MarkovPredictor final : public Predictor {
 public:
  MarkovPredictor(int64_t largest_window_bytes, int64_t join_bytes)
      : sequential_(largest_window_bytes, join_bytes),
        window_(largest_window_bytes),
        fetch_(join_bytes) {}

  std::span<const Extent> access(Extent access) override;
  bool predicts() const override { return !foreseen_.empty() || sequential_.predicts(); }
  int64_t rests() const override { return trust_.rests(); }
  void rested(int64_t accesses, int64_t bytes) override;
  ReadRow next_row() override { return foreseen_.empty() ? sequential_.next_row() : ReadRow(); }
  bool row_holds() const override { return sequential_.row_holds(); }
  void row_fetched() override { sequential_.row_fetched(); }

 private:
  // The last two accesses.
  struct Pair {
    Extent before, last;
    void move_on(Extent access) {
      before = last;
      last = access;
    }
    uint64_t hash() const;
  };
  struct Follower {
    uint64_t hash = 0;  // of the pair; 0: there is none
    Extent access;
    int times = 0;  // it followed again, less the times it did not
  };
  // Of so many pairs the follower is remembered. In a full set a pair replaces the one whose
  // follower came least often.
  static constexpr std::size_t sets = std::size_t{1} << 12;
  static constexpr std::size_t set_size = 4;
  static constexpr int most_times = 3;
  // Bounds accesses to the same bytes, which take nothing of the window.
  static constexpr std::size_t most_foreseen = 4096;

  void learn(Extent access);
  Follower& place_of(uint64_t hash);
  const Follower* follower_of(const Pair& pair);
  std::span<const Extent> look_ahead();

  std::vector<Follower> followers_;  // sets, by the hash of the pair
  Pair latest_;
  int taken_ = 0;  // accesses, as long as they make no pair
  SequentialPredictor sequential_;
  Trust trust_;

  std::deque<Extent> foreseen_;  // the next accesses
  Pair ahead_;                   // the last two of these, or of those taken
  Window window_;
  FetchList fetch_;
};

}  // namespace forebay
