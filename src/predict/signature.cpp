#include "predict/signature.h"

#include <algorithm>

namespace forebay {
namespace {

constexpr uint64_t most_accesses_ahead = 4096;  // where they cost nothing, being the same bytes

// What is predicted is no more than the last few hundred terms; what they are part of is not kept.
constexpr pattern::Limits limits{.look_back = 32, .raw_bytes = 0, .pattern_bytes = 0};

}  // namespace

SignaturePredictor::SignaturePredictor(int64_t largest_window_bytes, int64_t join_bytes)
    : folder_(limits),
      sequential_(largest_window_bytes, join_bytes),
      window_(largest_window_bytes),
      fetch_(join_bytes) {}

std::span<const Extent> SignaturePredictor::access(Extent access) {
  const uint64_t generation = folder_.generation();
  folder_.add({access.offset, access.length, 0});
  const bool foreseen = sequential_.learn(access);
  if (leads_ && folder_.generation() == generation) {
    pass(access);
  } else {
    leads_ = folder_.loop() != nullptr && !foreseen;
    if (leads_) begin();
  }
  last_ = access;
  if (!leads_) return sequential_.look_ahead();
  sequential_.give_way();
  return look_ahead();
}

void SignaturePredictor::begin() {
  ahead_ = folder_.ahead();
  accesses_ahead_ = 0;
  window_.close();
}

// The access that was predicted has come.
void SignaturePredictor::pass(Extent access) {
  if (accesses_ahead_ == 0) return ahead_.advance();
  --accesses_ahead_;
  window_.used(fetch_.cost_bytes(last_, access));
}

std::span<const Extent> SignaturePredictor::look_ahead() {
  fetch_.clear();
  if (accesses_ahead_ == 0) last_ahead_ = last_;
  int64_t wanted = window_.wanted(first_window_accesses * last_.length);
  while (wanted > 0 && accesses_ahead_ < most_accesses_ahead) {
    const pattern::Access next = ahead_.access();
    const Extent extent{next.offset, next.size};
    if (!FetchList::possible(extent)) break;  // the loop ends here, whatever its count
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
