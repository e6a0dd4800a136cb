#include "extent/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace forebay {
namespace {

TEST(Text, IsCutAtSeparatorsUntilNothingIsLeft) {
  std::string_view text = "a,,bc,";
  std::vector<std::string_view> parts;
  while (!text.empty()) parts.push_back(cut(text, ','));
  EXPECT_EQ(parts, (std::vector<std::string_view>{"a", "", "bc"}));
  EXPECT_EQ(cut(text, ','), "");
}

TEST(Text, WithoutASeparatorIsOnePart) {
  std::string_view text = "word";
  EXPECT_EQ(cut(text, ' '), "word");
  EXPECT_EQ(text, "");
}

TEST(Text, ANumberIsTheWholeOfItOrItsBeginning) {
  EXPECT_EQ(whole_number<int64_t>("-12"), -12);
  EXPECT_EQ(leading_number<int64_t>("12 kB"), 12);
  for (const char* const text : {"", " 1", "+1", "x", "9223372036854775808"}) {
    EXPECT_EQ(whole_number<int64_t>(text), std::nullopt) << text;
    EXPECT_EQ(leading_number<int64_t>(text), std::nullopt) << text;
  }
  EXPECT_EQ(whole_number<int64_t>("12 kB"), std::nullopt);
  EXPECT_EQ(whole_number<uint32_t>("-1"), std::nullopt);
}

}  // namespace
}  // namespace forebay
