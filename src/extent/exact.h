// 64-bit arithmetic on numbers that users chose. Remembers whether any result exceeded 64 bits.
#pragma once

#include <cstdint>

namespace forebay {

class Exact {
 public:
  int64_t add(int64_t a, int64_t b) {
    int64_t sum = 0;
    ok_ &= !__builtin_add_overflow(a, b, &sum);
    return sum;
  }
  int64_t subtract(int64_t a, int64_t b) {
    int64_t difference = 0;
    ok_ &= !__builtin_sub_overflow(a, b, &difference);
    return difference;
  }
  int64_t multiply(int64_t a, int64_t b) {
    int64_t product = 0;
    ok_ &= !__builtin_mul_overflow(a, b, &product);
    return product;
  }
  bool ok() const { return ok_; }

 private:
  bool ok_ = true;
};

}  // namespace forebay
