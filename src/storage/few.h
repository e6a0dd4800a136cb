// Values whose number is known only when they are needed. A few stand within the object, so that a
// short list costs no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace forebay {

template <typename T, std::size_t few>
class Few {
 public:
  // Makes `count` values, all as T{}. Spans of earlier values are no longer valid.
  std::span<T> make(std::size_t count) {
    if (count <= few) {
      std::span<T> some = std::span(some_).first(count);
      for (T& value : some) value = T{};
      return values_ = some;
    }
    many_.assign(count, T{});
    return values_ = many_;
  }
  std::span<T> values() { return values_; }
  std::span<const T> values() const { return values_; }

  Few() = default;
  Few(const Few&) = delete;
  Few& operator=(const Few&) = delete;

 private:
  std::array<T, few> some_;
  std::vector<T> many_;
  std::span<T> values_;
};

}  // namespace forebay
