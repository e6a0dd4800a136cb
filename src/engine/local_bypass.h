// Whether accesses of middling size go past the cache because storage answers from this node's
// memory: a local file system behind the kernel's page cache. Believed from the first call on,
// since a second copy of such bytes is pure loss; no longer believed once most calls take as long
// as a device or a network does. So do the first few accesses of any size: a file that is opened
// for them alone gets no page. Writes of middling size among small ones are kept: in their pages
// they become few requests together. Pure: told of durations, it never looks at a clock.
#pragma once

#include <bit>
#include <cstdint>

namespace forebay {

class LocalBypass {
 public:
  // Storage is local: accesses of at least `least_bytes` are to go past the cache.
  void expect(int64_t least_bytes) {
    least_bytes_ = least_bytes;
    first_ = first_accesses + 1;  // the one before any
  }

  // Speaks of the access that was noted last.
  bool takes(int64_t bytes) const {
    if (first_ > 0) return true;
    return bytes >= least_bytes_ && (small_writes_ == 0 || bytes / middling >= least_bytes_);
  }

  // An access that begins a page is to come.
  void note_write(int64_t bytes) {
    note_read();
    if (first_ == 0) small_writes_ = small_writes_ << 1 | (bytes < least_bytes_);
  }
  void note_read() { first_ -= first_ > 0; }

  // A call of storage that went past the cache took so long.
  void took(int64_t ns, int64_t bytes) {
    latest_ = static_cast<uint16_t>(latest_ << 1 | (ns > slow_call_ns + bytes * slow_ns_a_byte));
    if (std::popcount(latest_) > most_slow) *this = {};
  }

 private:
  static constexpr int64_t never = INT64_MAX;
  static constexpr int first_accesses = 4;
  static constexpr int64_t middling = 8;  // up to so many times the least
  static constexpr int64_t slow_call_ns = 50'000;
  static constexpr int64_t slow_ns_a_byte = 1;
  static constexpr int most_slow = 8;  // of the sixteen latest: single calls lose the processor

  int64_t least_bytes_ = never;
  int first_ = 0;              // accesses left of the first ones, with the latest
  uint16_t latest_ = 0;        // a bit a call, set for a slow one
  uint32_t small_writes_ = 0;  // likewise, of the 32 latest that began a page
};

}  // namespace forebay
