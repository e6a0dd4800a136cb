// Decides whether reads that are so long that they go past the cache are fetched ahead. They are
// where the program pauses between them, to compute, and storage takes longer than a copy does:
// then the pause hides storage's time. The class is told times and never looks at a clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace forebay {

class LongReads {
 public:
  struct Read {
    int64_t began_ns;
    int64_t ended_ns;
    int64_t bytes;
    // The part that went past the cache: how long storage took for it, and its bytes.
    int64_t past_ns;
    int64_t past_bytes;
  };
  void note(const Read& read) {
    if (read.bytes == 0) return forget();
    if (ended_ns_ != never) smooth(pause_ns_, read.began_ns - ended_ns_);
    ended_ns_ = read.ended_ns;
    smooth(bytes_, read.bytes);
    if (2 * read.past_bytes >= read.bytes)
      smooth(storage_ns_, static_cast<int64_t>(static_cast<double>(read.past_ns) *
                                               static_cast<double>(read.bytes) /
                                               static_cast<double>(read.past_bytes)));
  }
  // Nothing is known of the next reads.
  void forget() { *this = {}; }

  bool worth_fetching_ahead() const {
    return std::min(pause_ns_, storage_ns_) * bytes_copied_a_ns > gain * bytes_;
  }

 private:
  static constexpr int64_t never = INT64_MIN;
  static constexpr int64_t bytes_copied_a_ns = 4;  // into the program's memory
  static constexpr int64_t gain = 2;               // least, in times that a copy takes

  // A mean in which the latest values weigh most.
  static void smooth(int64_t& mean, int64_t value) {
    mean = mean == 0 ? value : mean + (value - mean) / 4;
  }

  int64_t ended_ns_ = never;
  int64_t pause_ns_ = 0;    // between reads
  int64_t storage_ns_ = 0;  // of a read from storage
  int64_t bytes_ = 0;       // of a read
};

}  // namespace forebay
