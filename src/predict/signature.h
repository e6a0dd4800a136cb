// Predicts reads by their I/O signature (src/pattern), which is folded while they happen: nested
// loops of any depth, whose accesses may have unlike places and sizes, like the variables of a
// record.
//
// The signature leads once a loop of it expects an access (or an access completes a loop) that the
// sequential predictor did not expect. It leads until a prediction fails. Otherwise the sequential
// predictor leads: it recognises simple rules after fewer accesses, and needs no equal sizes.
#pragma once

#include <cstdint>
#include <span>

#include "pattern/folder.h"
#include "predict/fetch_list.h"
#include "predict/predictor.h"
#include "predict/sequential.h"
#include "predict/trust.h"
#include "predict/window.h"

namespace forebay {

class SignaturePredictor final : public Predictor {
 public:
  SignaturePredictor(int64_t largest_window_bytes, int64_t join_bytes);

  std::span<const Extent> access(Extent access) override;
  bool predicts() const override { return leads_ || sequential_.predicts(); }
  int64_t rests() const override { return trust_.rests(); }
  void rested(int64_t accesses, int64_t bytes) override { trust_.rested(accesses, bytes); }
  ReadRow next_row() override { return leads_ ? ReadRow() : sequential_.next_row(); }
  bool row_holds() const override { return sequential_.row_holds(); }
  void row_fetched() override { sequential_.row_fetched(); }

 private:
  void begin();
  void give_up();
  void pass(Extent access);
  std::span<const Extent> look_ahead();

  pattern::Folder folder_;
  SequentialPredictor sequential_;
  Extent last_;
  bool leads_ = false;
  Trust trust_;

  // Used while the signature leads.
  pattern::Walk ahead_;          // the next access to fetch
  Extent last_ahead_;            // the access before it
  uint64_t accesses_ahead_ = 0;  // from the last access to it
  uint64_t foreseen_ = 0;        // accesses since it leads
  Window window_;
  FetchList fetch_;
};

}  // namespace forebay
