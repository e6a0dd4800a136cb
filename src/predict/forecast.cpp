#include "predict/forecast.h"

#include "predict/fetch_list.h"

namespace forebay {
namespace {

// Only the most recent terms are needed to foresee. The signature itself is not kept.
constexpr pattern::Limits forecast_limits{.look_back = 32, .raw_bytes = 0, .pattern_bytes = 0};
// The work for what is foreseen in vain is bounded by what came true before.
constexpr uint64_t foreseen_for_each_that_came_true = 64;

}  // namespace

Forecast::Forecast() : folder_(forecast_limits) {}

bool Forecast::take(Extent access) {
  const uint64_t generation = folder_.generation();
  folder_.add({access.offset, access.length, 0});
  if (follows_ && folder_.generation() == generation) {
    ++came_true_;
    if (foreseen_ == 0)
      ahead_.advance();
    else
      --foreseen_;
    return true;
  }
  follows_ = folder_.loop() != nullptr;
  if (follows_) ahead_ = folder_.ahead();
  foreseen_ = came_true_ = 0;
  return false;
}

bool Forecast::foresee(Extent* access) {
  if (!follows_ || foreseen_ >= foreseen_for_each_that_came_true * (came_true_ + 1)) return false;
  const pattern::Access next = ahead_.access();
  *access = {next.offset, next.size};
  if (!FetchList::possible(*access)) return false;  // the loop ends here, whatever its count
  ahead_.advance();
  ++foreseen_;
  return true;
}

}  // namespace forebay
