// The possible contents of a file after successful and failed writes.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace forebay::test {

// The values that a reader may find at each byte.
class Expectation {
 public:
  explicit Expectation(int64_t file_bytes) : legal_(static_cast<std::size_t>(file_bytes), {0}) {}
  void written(int64_t offset, const std::vector<std::byte>& bytes, bool surely) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::set<int>& legal = legal_[static_cast<std::size_t>(offset) + i];
      if (surely) legal.clear();
      legal.insert(std::to_integer<int>(bytes[i]));
    }
  }
  ::testing::AssertionResult allows(int64_t offset, const std::byte* bytes, int64_t length) const {
    for (int64_t i = 0; i < length; ++i) {
      const int found = std::to_integer<int>(bytes[i]);
      if (!legal_[static_cast<std::size_t>(offset + i)].contains(found))
        return ::testing::AssertionFailure() << "byte " << offset + i << " is " << found;
    }
    return ::testing::AssertionSuccess();
  }

 private:
  std::vector<std::set<int>> legal_;
};

}  // namespace forebay::test
