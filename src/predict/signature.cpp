#include "predict/signature.h"

#include <algorithm>

namespace forebay {
namespace {

// Bounds a loop over the same bytes, whose accesses take nothing of the window.
constexpr uint64_t most_accesses_ahead = 4096;
// The work ahead of a prediction that then fails is bounded by what came true before.
constexpr uint64_t accesses_ahead_for_each_foreseen = 64;

// Only the most recent terms are needed to predict. The signature itself is not kept.
constexpr pattern::Limits limits{.look_back = 32, .raw_bytes = 0, .pattern_bytes = 0};

}  // namespace

SignaturePredictor::SignaturePredictor(int64_t largest_window_bytes, int64_t join_bytes)
    : folder_(limits),
      sequential_(largest_window_bytes, join_bytes),
      window_(largest_window_bytes),
      fetch_(join_bytes) {}

std::span<const Extent> SignaturePredictor::access(Extent access) {
  const uint64_t generation = folder_.generation();
  const bool predicted = predicts();
  folder_.add({access.offset, access.length, 0});
  const bool foreseen = sequential_.learn(access);
  if (leads_ && folder_.generation() == generation) {
    pass(access);
    trust_.foreseen();
  } else {
    if (foreseen)
      trust_.foreseen();
    else if (predicted)
      trust_.failed();
    leads_ = folder_.loop() != nullptr && !foreseen;
    if (leads_) begin();
  }
  last_ = access;
  if (trust_.rests() > 0) {
    give_up();
    return {};
  }
  if (!leads_) return sequential_.look_ahead();
  sequential_.give_way();
  return look_ahead();
}

void SignaturePredictor::begin() {
  ahead_ = folder_.ahead();
  accesses_ahead_ = 0;
  foreseen_ = 0;
  window_.close();
}

// Predicts nothing until it is told of an access again.
void SignaturePredictor::give_up() {
  leads_ = false;
  sequential_.give_way();
}

// The predicted access has happened.
void SignaturePredictor::pass(Extent access) {
  ++foreseen_;
  if (accesses_ahead_ == 0) return ahead_.advance();
  --accesses_ahead_;
  window_.used(fetch_.cost_bytes(last_, access));
}

std::span<const Extent> SignaturePredictor::look_ahead() {
  fetch_.clear();
  if (accesses_ahead_ == 0) last_ahead_ = last_;
  int64_t wanted = window_.wanted(first_window_accesses * last_.length);
  const uint64_t most =
      std::min(most_accesses_ahead, (foreseen_ + 1) * accesses_ahead_for_each_foreseen);
  while (wanted > 0 && accesses_ahead_ < most) {
    const pattern::Access next = ahead_.access();
    const Extent extent{next.offset, next.size};
    if (!FetchList::possible(extent)) break;  // the loop must end here, whatever its count
    const int64_t cost = fetch_.cost_bytes(last_ahead_, extent);
    fetch_.add(extent);
    window_.issued(cost);
    wanted -= cost;
    last_ahead_ = extent;
    ++accesses_ahead_;
    ahead_.advance();
  }
  return fetch_.sorted();
}

}  // namespace forebay
