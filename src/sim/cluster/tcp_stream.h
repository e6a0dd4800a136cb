// One direction of a TCP connection, without a network: what its sender may send and when, and what
// its receiver has and acknowledges. Slow start and congestion avoidance as in RFC 5681, counted in
// bytes (RFC 3465); fast recovery as in RFC 6582 (NewReno); timeouts as in RFC 6298.
//
// Simplified: no handshake, no selective acknowledgements, no Nagle, no probing of the path. An
// idle sender keeps its congestion window. The receiving program takes bytes at once, so the
// receiver's window never shrinks. No timer delays an acknowledgement: a segment after which its
// sender must stop asks for one instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cluster/kernel.h"

namespace forebay::sim {

// Things of one type that come and go; each has a number while it is in use. Memory grows to the
// most that were in use at a time, and is then used again.
template <typename T>
class Pool {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  uint32_t take(const T& value) {
    if (free_.empty()) {
      things_.push_back(value);
      return static_cast<uint32_t>(things_.size() - 1);
    }
    const uint32_t number = free_.back();
    free_.pop_back();
    things_[number] = value;
    return number;
  }
  void give_back(uint32_t number) { free_.push_back(number); }
  T& operator[](uint32_t number) { return things_[number]; }
  std::size_t in_use() const { return things_.size() - free_.size(); }

 private:
  std::vector<T> things_;
  std::vector<uint32_t> free_;
};

// What the streams of a network have in common.
struct TcpProfile {
  int64_t segment = 1460;        // most bytes of the stream in a segment
  int64_t window = 65536;        // most bytes on the way
  int64_t first_window = 65536;  // congestion window of a new stream, bytes
  Picoseconds least_timeout = 200 * millisecond;
  Picoseconds most_timeout = 60 * second;
};

// Bytes [begin, begin + bytes) of a stream.
struct TcpSegment {
  int64_t begin = 0;
  int64_t bytes = 0;
  bool asks = false;   // the receiver is to acknowledge it at once
  bool again = false;  // it was sent before
};

// Invariant: acknowledged_ <= next_ <= sent_ <= written_. Bytes below acknowledged_ have arrived;
// next_ is below sent_ only after a timeout, while bytes are sent again.
class TcpSender {
 public:
  explicit TcpSender(const TcpProfile& profile) : window_(profile.first_window) {}

  void write(int64_t bytes) { written_ += bytes; }
  int64_t written() const { return written_; }
  // Takes the next segment that may be sent now; of 0 bytes: there is none.
  TcpSegment next(const TcpProfile& profile, Picoseconds now);
  // An acknowledgement has come: the receiver has all bytes below `end`.
  void acknowledge(const TcpProfile& profile, int64_t end, Picoseconds now);
  // Nothing was acknowledged until deadline(): everything on the way counts as lost.
  void time_out(const TcpProfile& profile, Picoseconds now);

  bool waits() const { return sent_ > acknowledged_; }
  Picoseconds deadline() const { return deadline_; }  // while it waits
  int64_t congestion_window() const { return window_; }

 private:
  static constexpr int duplicates_of_a_loss = 3;
  static constexpr int64_t unlimited = INT64_MAX / 4;

  int64_t next_bytes(const TcpProfile& profile) const;
  TcpSegment first_again(const TcpProfile& profile, Picoseconds now);
  void advance(const TcpProfile& profile, int64_t acknowledged, Picoseconds now);
  void grow(const TcpProfile& profile, int64_t acknowledged);
  void duplicate(const TcpProfile& profile);
  void measure(Picoseconds round_trip);
  Picoseconds timeout(const TcpProfile& profile) const;
  int64_t half_of_flight(const TcpProfile& profile) const;

  int64_t acknowledged_ = 0;
  int64_t next_ = 0;
  int64_t sent_ = 0;
  int64_t written_ = 0;
  int64_t window_;                 // congestion window
  int64_t threshold_ = unlimited;  // below it the window grows by slow start
  // Fast recovery lasts until all below this is acknowledged. Duplicates that come before this is
  // passed do not start another one.
  int64_t recover_ = -1;
  // The one segment whose round trip is measured: its end, and when it was sent.
  int64_t timed_end_ = -1;
  Picoseconds timed_since_ = 0;
  Picoseconds smoothed_ = 0;  // round trip; 0: none measured yet
  Picoseconds variation_ = 0;
  Picoseconds deadline_ = 0;
  int duplicates_ = 0;     // acknowledgements in a row that brought nothing new
  uint8_t doublings_ = 0;  // of the timeout
  bool recovers_ = false;
  bool first_is_lost_ = false;  // the first segment on the way is to be sent again
};

// A piece of a stream that came before what precedes it.
struct EarlyRange {
  int64_t begin, end;
  uint32_t next;
};

// Invariant: the early ranges are in order, apart from each other and above expected().
class TcpReceiver {
 public:
  // True: an acknowledgement of expected() is to be sent now.
  bool receive(Pool<EarlyRange>& ranges, int64_t begin, int64_t end, bool asks);
  int64_t expected() const { return expected_; }  // all bytes below it have arrived

 private:
  void keep(Pool<EarlyRange>& ranges, int64_t begin, int64_t end);
  void take_kept(Pool<EarlyRange>& ranges);

  int64_t expected_ = 0;
  uint32_t early_ = Pool<EarlyRange>::none;
  uint32_t unacknowledged_ = 0;  // segments
};

}  // namespace forebay::sim
