#include "fabric/in_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace forebay::fabric {
namespace {

std::vector<std::byte> text_of_number(uint64_t number) {
  std::vector<std::byte> bytes(sizeof number);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

uint64_t number_of(std::span<const std::byte> bytes) {
  uint64_t number = 0;
  EXPECT_EQ(bytes.size(), sizeof number);
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

TEST(InOrder, EachSendersMessagesComeAsTheyWereSent) {
  std::mt19937_64 random(1);
  InOrder order;
  constexpr uint64_t senders = 3;
  std::vector<std::pair<uint64_t, uint64_t>> arriving;  // sender, number
  for (uint64_t number = 0; number < 5000; ++number) arriving.emplace_back(number % senders, 0);
  std::vector<uint64_t> numbers(senders, 0);
  for (auto& [sender, number] : arriving) number = numbers[sender]++;
  for (std::size_t at = 0; at + 40 < arriving.size(); at += 40)
    std::ranges::shuffle(std::span(arriving).subspan(at, 40), random);
  std::vector<std::vector<uint64_t>> got(senders);
  for (const auto& [sender, number] : arriving) {
    if (!order.is_next(sender, number, text_of_number(number))) continue;
    got[sender].push_back(number);
    while (const auto waiting = order.waiting()) got[sender].push_back(number_of(*waiting));
  }
  for (uint64_t sender = 0; sender < senders; ++sender) {
    std::vector<uint64_t> all(numbers[sender]);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(got[sender], all);
  }
}

TEST(InOrder, WhatCameBeforeOrIsFarAheadIsDropped) {
  InOrder order;
  const std::vector<std::byte> message = text_of_number(0);
  EXPECT_TRUE(order.is_next(7, 0, message));
  EXPECT_FALSE(order.is_next(7, 0, message));
  EXPECT_FALSE(order.is_next(7, 2 + InOrder::most_ahead, message));
  EXPECT_FALSE(order.is_next(7, UINT64_MAX, message));
  EXPECT_FALSE(order.is_next(7, 2, text_of_number(2)));
  EXPECT_FALSE(order.is_next(7, 2, text_of_number(99)));  // the first is kept
  EXPECT_TRUE(order.is_next(7, 1, message));
  const auto waiting = order.waiting();
  ASSERT_TRUE(waiting);
  EXPECT_EQ(number_of(*waiting), 2u);
  EXPECT_FALSE(order.waiting());
}

TEST(InOrder, SendersAreNoMoreThanThereIsRoomFor) {
  InOrder order;
  for (uint64_t sender = 0; sender < InOrder::most_senders; ++sender)
    ASSERT_TRUE(order.is_next(sender, 0, {}));
  EXPECT_FALSE(order.is_next(InOrder::most_senders, 0, {}));
  EXPECT_TRUE(order.is_next(5, 1, {}));
}

}  // namespace
}  // namespace forebay::fabric
