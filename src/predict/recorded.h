// Predicts reads from those that an earlier run made (option predict_from): the same program on
// like data reads the same places in the same order, also where no rule describes the order.
//
// It follows the recorded reads from the first access on. Reads that are left out now are passed
// over, if they are not many. Where a read is none of the next recorded ones, another predictor
// leads until one is.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "pattern/signature.h"
#include "predict/fetch_list.h"
#include "predict/predictor.h"
#include "predict/window.h"

namespace forebay {

class RecordedPredictor final : public Predictor {
 public:
  // `reads`: the recorded ones, each of them one contiguous run. `otherwise` is not null.
  RecordedPredictor(std::shared_ptr<const pattern::Signature> reads,
                    std::unique_ptr<Predictor> otherwise, int64_t largest_window_bytes,
                    int64_t join_bytes);

  std::span<const Extent> access(Extent access) override;
  bool predicts() const override { return follows_ || otherwise_->predicts(); }
  int64_t rests() const override { return follows_ ? 0 : otherwise_->rests(); }
  void rested(int64_t accesses, int64_t bytes) override;
  ReadRow next_row() override { return follows_ ? ReadRow() : otherwise_->next_row(); }
  bool row_holds() const override { return !follows_ && otherwise_->row_holds(); }
  void row_fetched() override { otherwise_->row_fetched(); }

 private:
  struct Next {
    Extent read;
    int64_t cost_bytes = 0;  // of the window, once it is fetched ahead
  };
  // So many of the next recorded reads are compared with an access; when the predictor has lost its
  // place, as many more as there have been accesses since, but not more than `farthest`.
  static constexpr std::size_t nearest = 64, farthest = 4096;
  // Bounds reads of the same bytes, which take nothing of the window.
  static constexpr std::size_t most_ahead = 4096;

  bool find(Extent access);
  bool has_next(std::size_t index);
  void lose_place();
  std::span<const Extent> look_ahead(Extent access);

  std::shared_ptr<const pattern::Signature> reads_;
  pattern::Cursor cursor_;  // after the last of next_
  std::deque<Next> next_;
  std::size_t fetched_ = 0;  // of next_
  bool follows_ = true;
  // Since the place was lost: accesses, and how many more of them are not looked for.
  int64_t lost_for_ = 0, looks_again_in_ = 0, pause_ = 0;
  std::unique_ptr<Predictor> otherwise_;
  Window window_;
  FetchList fetch_;
};

}  // namespace forebay
