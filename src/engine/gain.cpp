#include "engine/gain.h"

#include <algorithm>

namespace forebay {

namespace {

constexpr int64_t bytes_between_samples = 1 << 20;
constexpr int64_t calls_between_samples = 16;
constexpr int64_t most_calls_a_cheap_sample = 2048;
constexpr int64_t most_calls_until_trial = 1 << 20;
constexpr int least_calls_time = 16;  // all calls', in times what samples take
constexpr int dear_sample = 4;        // in times what a call takes
constexpr int verdicts_needed = 2;
constexpr double clear_loss = 1.15;  // the cache must cost so much more: measurements are noisy

}  // namespace

void Gain::Samples::add(int64_t ns, int64_t bytes) {
  ns_[next_] = ns;
  bytes_[next_] = bytes;
  next_ = (next_ + 1) % capacity;
  count_ = std::min(count_ + 1, capacity);
}

double Gain::Samples::median_ns() const {
  if (count_ == 0) return 0;
  std::array<int64_t, capacity> sorted = ns_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count_ / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count_));
  return static_cast<double>(*middle);
}

double Gain::Samples::mean_bytes() const {
  int64_t sum = 0;
  for (std::size_t i = 0; i < count_; ++i) sum += bytes_[i];
  return count_ == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count_);
}

void Gain::cached(int64_t ns, int64_t bytes, int64_t calls) {
  cached_.add(ns, bytes);
  calls_ns_ += ns * calls;
}

void Gain::direct(int64_t ns, int64_t bytes) {
  direct_.add(ns, bytes);
  samples_ns_ += ns;
  ++samples_;
  bytes_since_sample_ = 0;
  calls_since_sample_ = 0;
}

bool Gain::direct_sample_due(int64_t calls, int64_t bytes, bool cheap) {
  bytes_since_sample_ += bytes;
  calls_since_sample_ += calls;
  all_bytes_ += bytes;
  all_calls_ += calls;
  if (cheap) return calls_since_sample_ >= calls_a_cheap_sample_;
  return calls_since_sample_ >= calls_between_samples &&
         bytes_since_sample_ >= bytes_between_samples;
}

bool Gain::affords_sample(Background background) const {
  if (!background.known()) return false;
  const double all_ns = static_cast<double>(calls_ns_) +
                        background.ns_per_byte * static_cast<double>(all_bytes_) +
                        background.ns_per_call * static_cast<double>(all_calls_);
  const auto samples_ns = static_cast<double>(samples_ns_);
  const bool dear = samples_ns * static_cast<double>(all_calls_) >
                    all_ns * static_cast<double>(samples_ * dear_sample);
  return !dear || samples_ns * least_calls_time <= all_ns;
}

bool Gain::judge(Background background) {
  if (!background.known() || !cached_.enough() || !direct_.enough()) return false;
  const double with_cache =
      cached_.median_ns() + background.ns_per_call + background.ns_per_byte * cached_.mean_bytes();
  if (with_cache <= clear_loss * direct_.median_ns()) {
    verdicts_ = 0;
    calls_a_cheap_sample_ = std::min(2 * calls_a_cheap_sample_, most_calls_a_cheap_sample);
    return false;
  }
  calls_a_cheap_sample_ = first_cheap_sample;
  if (++verdicts_ < verdicts_needed) return false;
  verdicts_ = 0;
  calls_aside_ = 0;
  cached_.clear();
  direct_.clear();
  all_calls_ = all_bytes_ = calls_ns_ = samples_ = samples_ns_ = 0;
  return true;
}

bool Gain::stay_aside() {
  if (++calls_aside_ < calls_until_trial_) return true;
  calls_until_trial_ = std::min(calls_until_trial_ * 2, most_calls_until_trial);
  return false;
}

}  // namespace forebay
