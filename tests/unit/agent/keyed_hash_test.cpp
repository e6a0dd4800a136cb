#include "agent/keyed_hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay::agent {
namespace {

// The published vectors: the key is 00 01 .. 0f, the message 00 01 .. of the length.
Key published(std::size_t length) {
  std::vector<std::byte> message;
  for (std::size_t b = 0; b < length; ++b) message.push_back(static_cast<std::byte>(b));
  return keyed_hash({0x0706050403020100u, 0x0f0e0d0c0b0a0908u}, message);
}

TEST(KeyedHash, AgreesWithThePublishedVectors) {
  EXPECT_EQ(published(0), (Key{0xe6a825ba047f81a3u, 0x930255c71472f66du}));
  EXPECT_EQ(published(1), (Key{0x44af996bd8c187dau, 0x45fc229b11597634u}));
}

TEST(KeyedHash, DependsOnTheKeyAndOnEveryByte) {
  const std::vector<std::byte> message(20);
  const Key hash = keyed_hash({1, 2}, message);
  EXPECT_NE(hash, keyed_hash({1, 3}, message));
  for (std::size_t b = 0; b < message.size(); ++b) {
    std::vector<std::byte> other = message;
    other[b] = std::byte{1};
    EXPECT_NE(hash, keyed_hash({1, 2}, other)) << b;
  }
}

}  // namespace
}  // namespace forebay::agent
