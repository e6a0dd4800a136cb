#include "sim/cluster/flash.h"

#include <algorithm>
#include <stdexcept>

namespace forebay::sim {

Flash::Flash(Kernel& kernel, const FlashProfile& profile) : kernel_(kernel), profile_(profile) {
  if (profile.page_bytes <= 0 || profile.channels <= 0 || profile.queue_depth <= 0 ||
      profile.channel_bytes_per_second <= 0 || profile.interface_bytes_per_second <= 0) {
    throw std::invalid_argument("a flash drive needs pages, channels, a queue and transfer rates");
  }
  channel_free_.resize(static_cast<std::size_t>(profile.channels));
}

void Flash::submit(bool writes, Extent place, Then done) {
  accept_request(counts_, bytes(), writes, place);
  const uint32_t request = free_ != none ? free_ : static_cast<uint32_t>(requests_.size());
  if (free_ == none) requests_.emplace_back();
  if (free_ != none) free_ = requests_[request].next;
  requests_[request] = {place, done, writes, none};
  if (under_way_ < profile_.queue_depth) {
    start(request);
  } else {
    (first_waiting_ == none ? first_waiting_ : requests_[last_waiting_].next) = request;
    last_waiting_ = request;
    ++waiting_;
  }
  counts_.longest_queue =
      std::max(counts_.longest_queue, static_cast<uint64_t>(waiting_ + under_way_));
}

void Flash::start(uint32_t request) {
  const auto [place, done, writes, next] = requests_[request];
  const Picoseconds now = kernel_.now();
  if (under_way_++ == 0) busy_since_ = now;
  const Picoseconds page_time = time_of(profile_.page_bytes, profile_.channel_bytes_per_second);
  const Picoseconds transfer =
      std::max(page_time, time_of(profile_.page_bytes, profile_.interface_bytes_per_second));
  const Picoseconds latency = writes ? profile_.write_latency : profile_.read_latency;
  const Picoseconds begin = now + std::max<Picoseconds>(0, latency - transfer);

  const int64_t first = place.offset / profile_.page_bytes;
  const int64_t pages =
      place.empty() ? 0 : round_up(place.end(), profile_.page_bytes) / profile_.page_bytes - first;
  Picoseconds end = begin;
  for (int64_t i = 0; i < std::min(pages, profile_.channels); ++i) {
    Picoseconds& free = channel_free_[static_cast<std::size_t>((first + i) % profile_.channels)];
    const int64_t here = (pages - i - 1) / profile_.channels + 1;
    free = std::max(free, begin) + here * page_time;
    end = std::max(end, free);
  }
  interface_free_ =
      std::max(interface_free_, begin) + time_of(place.length, profile_.interface_bytes_per_second);
  kernel_.at(std::max(end, interface_free_), {this, request});
}

void Flash::happen(uint64_t word) {
  const auto request = static_cast<uint32_t>(word);
  const Then done = requests_[request].done;
  requests_[request].next = free_;
  free_ = request;
  if (--under_way_ == 0) counts_.busy += kernel_.now() - busy_since_;
  if (first_waiting_ != none) {
    const uint32_t next = first_waiting_;
    first_waiting_ = requests_[next].next;
    --waiting_;
    start(next);
  }
  done.happen();
}

}  // namespace forebay::sim
