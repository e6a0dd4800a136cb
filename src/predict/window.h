// How many bytes are fetched ahead of the last access, as in the kernel's read-ahead: few at first,
// twice as many at each further fetch while the predictions are right, none once they are not.
#pragma once

#include <algorithm>
#include <cstdint>

namespace forebay {

inline constexpr int64_t first_window_accesses = 4;

class Window {
 public:
  explicit Window(int64_t largest_bytes) : largest_bytes_(largest_bytes) {}

  int64_t bytes() const { return bytes_; }  // 0: closed
  void close() { bytes_ = issued_bytes_ = 0; }

  int64_t issued_bytes() const { return issued_bytes_; }  // fetched beyond the last access

  // So many of the fetched bytes were requested.
  void used(int64_t bytes) { issued_bytes_ = std::max<int64_t>(issued_bytes_ - bytes, 0); }
  void issued(int64_t bytes) { issued_bytes_ += bytes; }

  // How many more bytes to fetch now. None while more than half of the window is ahead: the other
  // half then has enough time to arrive. `first_bytes`: size of the window when it opens.
  int64_t wanted(int64_t first_bytes) {
    if (bytes_ > 0 && issued_bytes_ > bytes_ / 2) return 0;
    bytes_ =
        std::min(bytes_ == 0 ? std::max(first_bytes, least_bytes) : 2 * bytes_, largest_bytes_);
    return std::max<int64_t>(bytes_ - issued_bytes_, 0);
  }

 private:
  static constexpr int64_t least_bytes = 64 << 10;

  const int64_t largest_bytes_;
  int64_t bytes_ = 0;
  int64_t issued_bytes_ = 0;
};

}  // namespace forebay
