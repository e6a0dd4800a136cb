// Messages between nodes in virtual time.
#include "sim/virtual_transport.h"

#include <gtest/gtest.h>

#include <vector>

#include "channel/faulty_channel.h"

namespace forebay::sim {
namespace {

constexpr uint32_t nodes = 4;
constexpr uint64_t messages = 20;
constexpr int64_t most_ns = 1000;

struct Outcome {
  std::vector<std::pair<uint32_t, uint64_t>> order;  // of arrivals at node 0: node, header
  uint64_t digest;
};

// All others send to node 0, each by a fiber.
Outcome all_to_one(uint64_t seed) {
  Fibers fibers(seed);
  VirtualTransport transport(fibers, nodes, most_ns, seed);
  Outcome outcome;
  for (uint32_t node = 1; node < nodes; ++node) {
    fibers.spawn(node, [&transport, node] {
      Send sends[messages];
      for (uint64_t i = 0; i < messages; ++i) transport.channel(node).post(sends[i], 0, {0, i, {}});
      for (Send& send : sends) EXPECT_TRUE(transport.channel(node).complete(send).ok());
    });
  }
  fibers.spawn(0, [&] {
    for (uint64_t i = 0; i < (nodes - 1) * messages; ++i) {
      Arrived arrived;
      EXPECT_TRUE(transport.channel(0).receive(any_node, &arrived).ok());
      outcome.order.emplace_back(arrived.from, arrived.header);
    }
  });
  EXPECT_TRUE(fibers.run());
  outcome.digest = fibers.digest();
  return outcome;
}

TEST(VirtualTransport, KeepsTheOrderOfAPairAlone) {
  const Outcome outcome = all_to_one(1);
  std::vector<uint64_t> next(nodes, 0);
  for (const auto& [node, header] : outcome.order) EXPECT_EQ(header, next[node]++);
  EXPECT_NE(outcome.order, all_to_one(2).order);
}

TEST(VirtualTransport, TheSameSeedGivesTheSameRun) {
  EXPECT_EQ(all_to_one(3).digest, all_to_one(3).digest);
  EXPECT_EQ(all_to_one(3).order, all_to_one(3).order);
}

TEST(VirtualTransport, AMessageTakesTime) {
  Fibers fibers(1);
  VirtualTransport transport(fibers, 2, most_ns, 1);
  fibers.spawn(1, [&] {
    EXPECT_TRUE(transport.channel(0).send(1, {}).ok());
    const int64_t arrived_ns = fibers.now_ns();
    EXPECT_GT(arrived_ns, 0);
    EXPECT_LE(arrived_ns, most_ns);
    Arrived arrived;
    EXPECT_EQ(transport.channel(1).poll(0, &arrived), Arrival::message);
  });
  EXPECT_TRUE(fibers.run());
}

// Fibers that wait for ever would let run() return false.
TEST(VirtualTransport, ADeathEndsTheWaitsForIt) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Fibers fibers(seed);
    VirtualTransport transport(fibers, 3, most_ns, seed);
    int told = 0;
    for (const uint32_t from : {2u, any_node}) {
      fibers.spawn(0, [&, from] {
        Arrived arrived;
        Status status;
        do {
          status = transport.channel(0).receive(from, &arrived);
        } while (status.ok());
        EXPECT_EQ(status.code, Code::node_lost);
        EXPECT_EQ(arrived.from, 2u);
        ++told;
      });
    }
    fibers.spawn(1, [&] {
      Status status;
      do {
        status = transport.channel(1).send(2, {});
      } while (status.ok());
      EXPECT_EQ(status.code, Code::node_lost);
      ++told;
    });
    fibers.spawn(2, [&] {
      for (;;) EXPECT_TRUE(transport.channel(2).send(0, {}).ok());
    });
    fibers.spawn(3, [&] {
      fibers.sleep(20 * most_ns);
      transport.kill(2);
      fibers.kill(2);
    });
    EXPECT_TRUE(fibers.run(100'000)) << seed;
    EXPECT_EQ(told, 3) << seed;
  }
}

TEST(VirtualTransport, WhatADeadProcessHadOnItsWayDoesNotArrive) {
  Fibers fibers(1);
  VirtualTransport transport(fibers, 2, most_ns, 1);
  fibers.spawn(2, [&] {
    Send send;
    transport.channel(0).post(send, 1, {});
    fibers.kill(2);
  });
  fibers.spawn(1, [&] {
    fibers.sleep(2 * most_ns);
    Arrived arrived;
    EXPECT_EQ(transport.channel(1).poll(0, &arrived), Arrival::nothing) << "its node lives";
  });
  EXPECT_TRUE(fibers.run());
}

TEST(VirtualTransport, CarriesAFaultyChannel) {
  Fibers fibers(1);
  VirtualTransport transport(fibers, 2, most_ns, 1);
  FaultyChannel faulty(transport.channel(0), {.drops_one_in = 3, .delays_one_in = 2}, 1);
  int arrivals = 0;
  int failures = 0;
  fibers.spawn(1, [&] {
    for (int i = 0; i < 100; ++i) failures += faulty.send(1, {}).ok() ? 0 : 1;
    transport.kill(0);
  });
  fibers.spawn(2, [&] {
    Arrived arrived;
    while (transport.channel(1).receive(0, &arrived).ok()) ++arrivals;
  });
  EXPECT_TRUE(fibers.run());
  EXPECT_GT(failures, 10);
  EXPECT_EQ(arrivals + failures, 100);
}

}  // namespace
}  // namespace forebay::sim
