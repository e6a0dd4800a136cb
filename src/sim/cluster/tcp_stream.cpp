#include "sim/cluster/tcp_stream.h"

#include <algorithm>
#include <cstdlib>

namespace forebay::sim {

// A segment goes whole or not at all, but something may always be on the way.
int64_t TcpSender::next_bytes(const TcpProfile& profile) const {
  const int64_t bytes = std::min(profile.segment, written_ - next_);
  const int64_t room = acknowledged_ + std::min(window_, profile.window) - next_;
  return bytes <= room || next_ == acknowledged_ ? bytes : 0;
}

TcpSegment TcpSender::next(const TcpProfile& profile, Picoseconds now) {
  if (first_is_lost_) return first_again(profile, now);
  TcpSegment segment{next_, next_bytes(profile)};
  if (segment.bytes == 0) return segment;
  if (next_ == acknowledged_) deadline_ = now + timeout(profile);
  segment.again = next_ < sent_;
  next_ += segment.bytes;
  sent_ = std::max(sent_, next_);
  segment.asks = next_bytes(profile) == 0;
  if (timed_end_ < 0 && !segment.again) {
    timed_end_ = next_;
    timed_since_ = now;
  }
  return segment;
}

TcpSegment TcpSender::first_again(const TcpProfile& profile, Picoseconds now) {
  first_is_lost_ = false;
  timed_end_ = -1;
  deadline_ = now + timeout(profile);
  return {acknowledged_, std::min(profile.segment, sent_ - acknowledged_), true, true};
}

void TcpSender::acknowledge(const TcpProfile& profile, int64_t end, Picoseconds now) {
  if (end > acknowledged_) {
    advance(profile, end - acknowledged_, now);
  } else if (end == acknowledged_ && waits()) {
    duplicate(profile);
  }
}

void TcpSender::advance(const TcpProfile& profile, int64_t acknowledged, Picoseconds now) {
  acknowledged_ += acknowledged;
  next_ = std::max(next_, acknowledged_);
  duplicates_ = 0;
  doublings_ = 0;
  if (timed_end_ >= 0 && acknowledged_ >= timed_end_) measure(now - timed_since_);
  deadline_ = now + timeout(profile);
  if (!recovers_) {
    grow(profile, acknowledged);
  } else if (acknowledged_ >= recover_) {
    recovers_ = false;
    recover_ = acknowledged_ - 1;
    window_ = threshold_;
  } else {  // the next segment was lost as well
    first_is_lost_ = true;
    window_ = std::max(window_ - acknowledged, int64_t{0}) + profile.segment;
  }
}

void TcpSender::grow(const TcpProfile& profile, int64_t acknowledged) {
  const int64_t counted = std::min(acknowledged, 2 * profile.segment);
  const bool slow_start = window_ < threshold_;
  window_ += slow_start ? counted : std::max(profile.segment * counted / window_, int64_t{1});
  window_ = std::min(window_, std::max(profile.window, profile.segment));
}

void TcpSender::duplicate(const TcpProfile& profile) {
  ++duplicates_;
  if (recovers_) {  // a segment has left the network, so another may enter it
    window_ += profile.segment;
  } else if (duplicates_ == duplicates_of_a_loss && acknowledged_ > recover_) {
    recovers_ = true;
    recover_ = sent_;
    threshold_ = half_of_flight(profile);
    window_ = threshold_ + duplicates_of_a_loss * profile.segment;
    first_is_lost_ = true;
  }
}

void TcpSender::time_out(const TcpProfile& profile, Picoseconds now) {
  if (doublings_ == 0) threshold_ = half_of_flight(profile);
  if (timeout(profile) < profile.most_timeout) ++doublings_;
  window_ = profile.segment;
  recover_ = sent_;
  recovers_ = false;
  first_is_lost_ = false;
  duplicates_ = 0;
  timed_end_ = -1;
  next_ = acknowledged_;
  deadline_ = now + timeout(profile);
}

void TcpSender::measure(Picoseconds round_trip) {
  timed_end_ = -1;
  if (smoothed_ == 0) {
    smoothed_ = round_trip;
    variation_ = round_trip / 2;
    return;
  }
  variation_ += (std::abs(smoothed_ - round_trip) - variation_) / 4;
  smoothed_ += (round_trip - smoothed_) / 8;
}

Picoseconds TcpSender::timeout(const TcpProfile& profile) const {
  const Picoseconds once = std::max(smoothed_ + 4 * variation_, profile.least_timeout);
  return std::min(once << doublings_, profile.most_timeout);
}

int64_t TcpSender::half_of_flight(const TcpProfile& profile) const {
  return std::max((next_ - acknowledged_) / 2, 2 * profile.segment);
}

bool TcpReceiver::receive(Pool<EarlyRange>& ranges, int64_t begin, int64_t end, bool asks) {
  if (begin > expected_) keep(ranges, begin, end);
  if (begin > expected_ || end <= expected_) {  // the sender learns that something is amiss
    unacknowledged_ = 0;
    return true;
  }
  const bool filled_a_gap = early_ != Pool<EarlyRange>::none;
  expected_ = end;
  if (filled_a_gap) take_kept(ranges);
  ++unacknowledged_;
  if (!filled_a_gap && !asks && unacknowledged_ < 2) return false;
  unacknowledged_ = 0;
  return true;
}

void TcpReceiver::keep(Pool<EarlyRange>& ranges, int64_t begin, int64_t end) {
  constexpr uint32_t none = Pool<EarlyRange>::none;
  uint32_t before = none, after = early_;
  for (; after != none && ranges[after].begin <= begin; after = ranges[after].next) before = after;
  if (before != none && ranges[before].end >= begin) {
    ranges[before].end = std::max(ranges[before].end, end);
  } else {
    const uint32_t added = ranges.take({begin, end, after});
    (before == none ? early_ : ranges[before].next) = added;
    before = added;
  }
  while (after != none && ranges[after].begin <= ranges[before].end) {
    ranges[before].end = std::max(ranges[before].end, ranges[after].end);
    ranges[before].next = ranges[after].next;
    ranges.give_back(after);
    after = ranges[before].next;
  }
}

void TcpReceiver::take_kept(Pool<EarlyRange>& ranges) {
  while (early_ != Pool<EarlyRange>::none && ranges[early_].begin <= expected_) {
    const uint32_t taken = early_;
    expected_ = std::max(expected_, ranges[taken].end);
    early_ = ranges[taken].next;
    ranges.give_back(taken);
  }
}

}  // namespace forebay::sim
