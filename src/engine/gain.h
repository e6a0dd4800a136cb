// Judges whether the cache brings a gain for one file and one kind of call. Compares sampled calls
// that went past the cache with sampled calls that used it, plus their share of the commits or of
// fetching ahead. It is told durations and never looks at a clock.
//
// Hysteresis: two verdicts against the cache in a row turn the file aside. The cache is tried again
// after a number of calls, which doubles with each trial.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace forebay {

class Gain {
 public:
  // Work in the background for calls through the cache. Negative: not known yet, no verdict.
  struct Background {
    double ns_per_byte = 0;
    double ns_per_call = 0;
    bool known() const { return ns_per_byte >= 0 && ns_per_call >= 0; }
  };

  // Notes a sampled call that used the cache, one of `calls` like it, or one that went past it.
  void cached(int64_t ns, int64_t bytes, int64_t calls);
  void direct(int64_t ns, int64_t bytes);

  // Counts `calls` calls of `bytes` bytes in all. Returns whether a call should go past the cache
  // now as a sample: about one call a mebibyte; if samples are cheap, one in 8 calls, and fewer
  // the longer the cache brings a gain. Stays true until direct() notes the sample.
  bool direct_sample_due(int64_t calls, int64_t bytes, bool cheap);

  // Whether a verdict may follow, and samples either take little longer than other calls or have
  // taken little of the time of all.
  bool affords_sample(Background background) const;

  int64_t calls_a_cheap_sample() const { return calls_a_cheap_sample_; }

  // Judges anew. True: from now on the file should go past the cache.
  bool judge(Background background);

  // Counts a call that goes past the cache because of the verdict. False: it is time to try the
  // cache again.
  bool stay_aside();

  double cached_ns() const { return cached_.median_ns(); }
  double direct_ns() const { return direct_.median_ns(); }

 private:
  // The last samples. Their median ignores the few calls during which the thread lost the
  // processor.
  class Samples {
   public:
    void add(int64_t ns, int64_t bytes);
    bool enough() const { return count_ >= needed; }
    void clear() { count_ = 0; }
    double median_ns() const;
    double mean_bytes() const;

   private:
    static constexpr std::size_t capacity = 16;
    static constexpr std::size_t needed = 8;
    std::array<int64_t, capacity> ns_{};
    std::array<int64_t, capacity> bytes_{};
    std::size_t next_ = 0;
    std::size_t count_ = 0;
  };

  Samples cached_;
  Samples direct_;
  int64_t bytes_since_sample_ = 0;
  int64_t calls_since_sample_ = 0;
  int64_t all_calls_ = 0;   // since the cache is used
  int64_t all_bytes_ = 0;   // of these
  int64_t calls_ns_ = 0;    // what those took that used the cache
  int64_t samples_ = 0;     // calls that went past it
  int64_t samples_ns_ = 0;  // what those took that went past it
  int64_t calls_a_cheap_sample_ = first_cheap_sample;
  int verdicts_ = 0;  // against the cache, in a row
  int64_t calls_aside_ = 0;
  int64_t calls_until_trial_ = first_trial_after;
  static constexpr int64_t first_trial_after = 4096;
  static constexpr int64_t first_cheap_sample = 8;
};

}  // namespace forebay
