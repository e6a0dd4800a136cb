// Goes by the I/O signature of the reads (src/pattern), which is folded while they happen: loops in
// loops to any depth, of accesses as unlike in place and size as the variables of a record are.
//
// The signature leads from the first access on that a loop of it foresaw, or that showed the loop,
// and the sequential predictor did not; until a prediction fails. Otherwise the sequential
// predictor does, which needs fewer accesses to see less, and no equal sizes.
#pragma once

#include <cstdint>
#include <span>

#include "pattern/folder.h"
#include "predict/fetch_list.h"
#include "predict/predictor.h"
#include "predict/sequential.h"
#include "predict/window.h"

namespace forebay {

class SignaturePredictor final : public Predictor {
 public:
  SignaturePredictor(int64_t largest_window_bytes, int64_t join_bytes);

  std::span<const Extent> access(Extent access) override;
  bool predicts() const override { return leads_ || sequential_.predicts(); }

 private:
  void begin();
  void pass(Extent access);
  std::span<const Extent> look_ahead();

  pattern::Folder folder_;
  SequentialPredictor sequential_;
  Extent last_;
  bool leads_ = false;

  // While it leads:
  pattern::Walk ahead_;          // where fetching goes on
  Extent last_ahead_;            // what lies before it
  uint64_t accesses_ahead_ = 0;  // between the last access and it
  Window window_;
  FetchList fetch_;
};

}  // namespace forebay
