// Recognises three rules with constant state, and constant work per access:
//   contiguous   each access begins where the last one ended, whatever the lengths
//   strided      accesses of one length at equal steps, forward or backward
//   nested       equally long runs of one of these, at equal steps (rows of an array block); if a
//   run
//                begins at another place, the rest of that run is still predicted
#pragma once

#include <cstdint>
#include <span>

#include "extent/extent.h"
#include "predict/fetch_list.h"
#include "predict/predictor.h"
#include "predict/window.h"

namespace forebay {

class SequentialPredictor final : public Predictor {
 public:
  SequentialPredictor(int64_t largest_window_bytes, int64_t join_bytes)
      : window_(largest_window_bytes), fetch_(join_bytes) {}

  std::span<const Extent> access(Extent access) override {
    learn(access);
    return look_ahead();
  }
  bool predicts() const override { return window_.bytes() > 0; }
  int64_t window_bytes() const { return window_.bytes(); }
  ReadRow next_row() override;
  bool row_holds() const override { return window_.promised(); }
  void row_fetched() override { window_.promise_kept(); }

  // The two halves of access(), for a predictor that uses this one for some accesses.
  bool learn(Extent access);  // whether the access was expected
  std::span<const Extent> look_ahead();
  void give_way() { window_.close(); }  // another predictor fetches ahead

 private:
  // Accesses that follow one rule. A unit is an access, or a byte if the run is contiguous.
  struct Run {
    int64_t start = 0;        // offset of the first unit
    int64_t units = 0;        // units so far
    int64_t step = 0;         // bytes from unit to unit
    int64_t unit_length = 0;  // bytes
    int64_t accesses = 0;
    bool contiguous = false;

    bool continued_by(Extent access, Extent last) const;
    bool confirmed() const { return accesses >= (contiguous ? 2 : 3); }
    bool same_shape(const Run& other) const;
    int64_t units_of(Extent access) const { return contiguous ? access.length : 1; }
    void begin_at(Extent access);
    void take(Extent access);
  };

  bool begin_run(Extent access);
  bool next_row(Extent access);
  bool complete_row() const { return row_units_ > 0 && run_.units == row_units_; }
  void used(int64_t units) { window_.used(units * unit_cost_bytes()); }
  int64_t unit_cost_bytes() const;
  int64_t offset_of(int64_t index) const;
  void add_units(int64_t index, int64_t count);

  bool started_ = false;
  Extent last_;
  Run run_;                // the accesses since the rule changed
  Run previous_;           // the confirmed run before run_; without accesses if there is none
  int64_t row_units_ = 0;  // units of each run if nested, else 0
  int64_t row_step_ = 0;   // bytes from the start of a run to the start of the next
  bool row_step_holds_ = false;

  Window window_;
  FetchList fetch_;
};

}  // namespace forebay
