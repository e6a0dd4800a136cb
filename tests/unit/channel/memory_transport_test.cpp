// Messages between nodes in one process: order, waiting, and the death of nodes.
#include "channel/memory_transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace forebay {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}
std::string text_of(const Arrived& arrived) {
  return {reinterpret_cast<const char*>(arrived.bytes.data()), arrived.bytes.size()};
}

TEST(MemoryTransport, BringsAMessageWhole) {
  MemoryTransport transport(3);
  std::string text = "some bytes";
  EXPECT_TRUE(transport.channel(0).send(2, {7, 1ull << 40, bytes_of(text)}).ok());
  text = "overwritten";
  Arrived arrived;
  EXPECT_EQ(transport.channel(1).poll(any_node, &arrived), Arrival::nothing);
  ASSERT_TRUE(transport.channel(2).receive(any_node, &arrived).ok());
  EXPECT_EQ(arrived.from, 0u);
  EXPECT_EQ(arrived.kind, 7u);
  EXPECT_EQ(arrived.header, 1ull << 40);
  EXPECT_EQ(text_of(arrived), "some bytes");
  EXPECT_EQ(transport.channel(2).poll(any_node, &arrived), Arrival::nothing);
}

TEST(MemoryTransport, AReceiverMayChooseTheSender) {
  MemoryTransport transport(3);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(transport.channel(0).send(2, {0, i, {}}).ok());
    EXPECT_TRUE(transport.channel(1).send(2, {0, 10 + i, {}}).ok());
  }
  std::vector<uint64_t> headers;
  Arrived arrived;
  while (transport.channel(2).poll(1, &arrived) == Arrival::message)
    headers.push_back(arrived.header);
  while (transport.channel(2).poll(0, &arrived) == Arrival::message)
    headers.push_back(arrived.header);
  EXPECT_EQ(headers, (std::vector<uint64_t>{10, 11, 12, 0, 1, 2}));
}

TEST(MemoryTransport, KeepsTheOrderOfAPairAmongManyThreads) {
  constexpr uint32_t senders = 4;
  constexpr uint64_t messages = 2000;
  MemoryTransport transport(senders + 1);
  std::vector<std::thread> threads;
  for (uint32_t node = 0; node < senders; ++node) {
    threads.emplace_back([&transport, node] {
      for (uint64_t i = 0; i < messages; ++i)
        EXPECT_TRUE(transport.channel(node).send(senders, {0, i, {}}).ok());
    });
  }
  std::vector<uint64_t> next(senders, 0);
  for (uint64_t i = 0; i < senders * messages; ++i) {
    Arrived arrived;
    ASSERT_TRUE(transport.channel(senders).receive(any_node, &arrived).ok());
    EXPECT_EQ(arrived.header, next[arrived.from]++);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(MemoryTransport, ADeadNodeIsNotSentTo) {
  MemoryTransport transport(2);
  transport.kill(1);
  EXPECT_EQ(transport.channel(0).send(1, {}).code, Code::node_lost);
  EXPECT_EQ(transport.channel(1).send(0, {}).code, Code::node_lost) << "nor does it send";
}

TEST(MemoryTransport, WhatADeadNodeHadSentArrivesBeforeItsDeath) {
  MemoryTransport transport(3);
  EXPECT_TRUE(transport.channel(1).send(0, {0, 5, {}}).ok());
  transport.kill(1);
  Arrived arrived;
  ASSERT_TRUE(transport.channel(0).receive(1, &arrived).ok());
  EXPECT_EQ(arrived.header, 5u);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(transport.channel(0).receive(1, &arrived).code, Code::node_lost);
    EXPECT_EQ(arrived.from, 1u);
  }
}

TEST(MemoryTransport, AReceiverFromAnyNodeIsToldOfEachDeathOnce) {
  MemoryTransport transport(4);
  Channel& channel = transport.channel(0);
  EXPECT_TRUE(transport.channel(2).send(0, {}).ok());
  transport.kill(1);
  transport.kill(2);
  transport.kill(2);
  Arrived arrived;
  EXPECT_EQ(channel.poll(any_node, &arrived), Arrival::message);
  EXPECT_EQ(channel.poll(any_node, &arrived), Arrival::lost);
  EXPECT_EQ(arrived.from, 1u);
  EXPECT_EQ(channel.poll(any_node, &arrived), Arrival::lost);
  EXPECT_EQ(arrived.from, 2u);
  EXPECT_EQ(channel.poll(any_node, &arrived), Arrival::nothing) << "node 3 lives";
  transport.kill(3);
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(channel.receive(any_node, &arrived).code, Code::node_lost);
    EXPECT_EQ(arrived.from, 3u);
  }
}

// Each of the receivers waits, or is about to: both must end.
TEST(MemoryTransport, ADeathEndsTheWaitsForIt) {
  for (int round = 0; round < 200; ++round) {
    MemoryTransport transport(3);
    std::atomic<int> begun{0};
    const auto wait = [&](uint32_t node, uint32_t from, uint32_t lost) {
      ++begun;
      Arrived arrived;
      EXPECT_EQ(transport.channel(node).receive(from, &arrived).code, Code::node_lost);
      EXPECT_EQ(arrived.from, lost);
    };
    std::thread chosen(wait, 0, 2, 2);
    std::thread any(wait, 1, any_node, 2);
    std::thread own(wait, 2, 0, 2);
    while (begun < 3) std::this_thread::yield();
    transport.kill(2);
    chosen.join();
    any.join();
    own.join();
  }
}

}  // namespace
}  // namespace forebay
