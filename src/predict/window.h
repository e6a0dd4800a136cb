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
  void close() { bytes_ = issued_bytes_ = promised_bytes_ = 0; }

  int64_t issued_bytes() const { return issued_bytes_; }  // fetched beyond the last access

  // So many of the fetched bytes were requested.
  void used(int64_t bytes) { issued_bytes_ = std::max<int64_t>(issued_bytes_ - bytes, 0); }
  void issued(int64_t bytes) { issued_bytes_ += bytes; }

  // How many more bytes to fetch now. None while more than half of the window is ahead: the other
  // half then has enough time to arrive. `first_bytes`: size of the window when it opens.
  int64_t wanted(int64_t first_bytes) {
    if (bytes_ > 0 && issued_bytes_ > bytes_ / 2) return 0;
    promised_bytes_ = 0;
    bytes_ = bytes_ == 0 ? std::min(std::max(first_bytes, least_bytes), largest_bytes_) : grown();
    return std::max<int64_t>(bytes_ - issued_bytes_, 0);
  }

  // How many bytes will be wanted next, for others to fetch them before; 0: so many are ahead that
  // these must not come yet.
  int64_t wanted_next() const {
    return bytes_ > 0 && issued_bytes_ <= bytes_ ? grown() - bytes_ / 2 : 0;
  }
  // Others may fetch so many bytes, until the window closes or asks for them itself.
  void promise(int64_t bytes) { promised_bytes_ = bytes; }
  bool promised() const { return promised_bytes_ > 0; }
  // Others have fetched them.
  void promise_kept() {
    issued_bytes_ += promised_bytes_;
    if (promised_bytes_ > 0) bytes_ = grown();
    promised_bytes_ = 0;
  }

 private:
  static constexpr int64_t least_bytes = 64 << 10;

  int64_t grown() const { return std::min(2 * bytes_, largest_bytes_); }

  const int64_t largest_bytes_;
  int64_t bytes_ = 0;
  int64_t issued_bytes_ = 0;
  int64_t promised_bytes_ = 0;
};

}  // namespace forebay
