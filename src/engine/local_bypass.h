// Decides whether accesses of middling size go past the cache because storage answers from this
// node's memory: a local file system behind the kernel's page cache. That is assumed from the first
// call on, since a second copy of the bytes in memory would bring nothing. The assumption ends when
// most calls take as long as a device or a network does. The first few accesses go past the cache
// whatever their size: a file that is opened only for them gets no page. Writes of middling size
// among small ones use the cache: their pages are committed together in few requests. The class is
// told durations and never looks at a clock.
#pragma once

#include <bit>
#include <cstdint>

namespace forebay {

class LocalBypass {
 public:
  // Storage is local: accesses of at least `least_bytes` shall go past the cache.
  void expect(int64_t least_bytes) {
    least_bytes_ = least_bytes;
    first_ = first_accesses + 1;  // one more, since an access is noted before takes() is asked
  }

  bool expects() const { return least_bytes_ != never; }

  // Whether the access that was noted last, of so many bytes, goes past the cache.
  bool takes(int64_t bytes) const {
    if (first_ > 0) return true;
    return bytes >= least_bytes_ && (small_writes_ == 0 || bytes / middling >= least_bytes_);
  }

  // Note an access, before it is carried out, that begins a page.
  void note_write(int64_t bytes) {
    note_read();
    if (first_ == 0) small_writes_ = small_writes_ << 1 | (bytes < least_bytes_);
  }
  void note_read() { first_ -= first_ > 0; }

  // Notes how long storage took for an access past the cache.
  void took(int64_t ns, int64_t bytes) {
    latest_ = static_cast<uint16_t>(latest_ << 1 | (ns > slow_call_ns + bytes * slow_ns_a_byte));
    if (std::popcount(latest_) > most_slow) *this = {};
  }

 private:
  static constexpr int64_t never = INT64_MAX;
  static constexpr int first_accesses = 4;
  static constexpr int64_t middling = 16;  // up to so many times least_bytes_
  static constexpr int64_t slow_call_ns = 50'000;
  static constexpr int64_t slow_ns_a_byte = 1;
  static constexpr int most_slow = 8;  // of the latest sixteen: single calls may lose the processor

  int64_t least_bytes_ = never;
  int first_ = 0;              // first accesses that are left, with the latest
  uint16_t latest_ = 0;        // a bit for each call, set for a slow one
  uint32_t small_writes_ = 0;  // a bit for each write that began a page, set for a small one
};

}  // namespace forebay
