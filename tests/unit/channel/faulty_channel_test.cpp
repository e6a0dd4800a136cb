// Messages that are late, overtake each other, or are not sent.
#include "channel/faulty_channel.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

#include "channel/memory_transport.h"

namespace forebay {
namespace {

using Order = std::vector<std::pair<uint32_t, uint64_t>>;  // of arrivals: node, header

// Ten messages to each of two nodes by turns; the order in which they arrive while they are posted.
Order sent_through(const ChannelFaults& faults, uint64_t seed, int* failed) {
  MemoryTransport transport(3);
  FaultyChannel channel(transport.channel(0), faults, seed);
  Order order;
  const auto receive = [&] {
    Arrived arrived;
    for (const uint32_t node : {1u, 2u}) {
      while (transport.channel(node).poll(0, &arrived) == Arrival::message)
        order.emplace_back(node, arrived.header);
    }
  };
  std::deque<Send> sends(20);
  for (uint64_t i = 0; i < sends.size(); ++i) {
    channel.post(sends[i], 1 + i % 2, {0, i, {}});
    receive();
  }
  *failed = 0;
  for (Send& send : sends) {
    const Status status = channel.complete(send);
    EXPECT_TRUE(status.ok() || status.code == Code::network);
    *failed += status.ok() ? 0 : 1;
    receive();
  }
  EXPECT_EQ(order.size() + static_cast<std::size_t>(*failed), sends.size());
  return order;
}

bool overtaken_in_pair(const Order& order) {
  uint64_t latest[3] = {};
  for (const auto& [node, header] : order) {
    if (header < latest[node]) return true;
    latest[node] = header;
  }
  return false;
}
bool overtaken(const Order& order) {
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i].second < order[i - 1].second) return true;
  }
  return false;
}

TEST(FaultyChannel, WithoutFaultsChangesNothing) {
  int failed = 0;
  const Order order = sent_through({}, 1, &failed);
  EXPECT_FALSE(overtaken(order));
  EXPECT_EQ(failed, 0);
}

TEST(FaultyChannel, KeepsTheOrderOfAPairUnlessAsked) {
  int overtaken_runs = 0;
  int pair_runs = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    int failed = 0;
    const Order kept = sent_through({.delays_one_in = 2}, seed, &failed);
    EXPECT_EQ(failed, 0);
    EXPECT_FALSE(overtaken_in_pair(kept)) << seed;
    overtaken_runs += overtaken(kept);
    pair_runs += overtaken_in_pair(
        sent_through({.delays_one_in = 2, .reorders_pairs = true}, seed, &failed));
  }
  EXPECT_GT(overtaken_runs, 50);
  EXPECT_GT(pair_runs, 50);
}

TEST(FaultyChannel, ADroppedMessageFailsItsSend) {
  int dropped = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    int failed = 0;
    const Order order = sent_through({.drops_one_in = 4, .delays_one_in = 3}, seed, &failed);
    EXPECT_FALSE(overtaken_in_pair(order)) << seed;
    dropped += failed;
  }
  EXPECT_GT(dropped, 300);
  EXPECT_LT(dropped, 700);
}

TEST(FaultyChannel, TheSeedDecides) {
  const ChannelFaults faults{.drops_one_in = 4, .delays_one_in = 2};
  int failed = 0;
  const Order once = sent_through(faults, 5, &failed);
  EXPECT_EQ(once, sent_through(faults, 5, &failed));
  EXPECT_NE(once, sent_through(faults, 6, &failed));
}

// Two nodes that keep back all they can still answer each other.
TEST(FaultyChannel, WhoeverWaitsHasSentAll) {
  MemoryTransport transport(2);
  FaultyChannel asking(transport.channel(0), {.delays_one_in = 1}, 1);
  Send question;
  asking.post(question, 1, {0, 1, {}});
  Arrived arrived;
  EXPECT_EQ(transport.channel(1).poll(0, &arrived), Arrival::nothing) << "it is kept back";
  EXPECT_TRUE(transport.channel(1).send(0, {0, 2, {}}).ok());
  ASSERT_TRUE(asking.receive(1, &arrived).ok());
  EXPECT_EQ(arrived.header, 2u);
  EXPECT_EQ(transport.channel(1).poll(0, &arrived), Arrival::message);
  EXPECT_TRUE(asking.complete(question).ok());
}

TEST(FaultyChannel, ALateMessageToADeadNodeFails) {
  MemoryTransport transport(2);
  FaultyChannel channel(transport.channel(0), {.delays_one_in = 1}, 1);
  Send send;
  channel.post(send, 1, {});
  transport.kill(1);
  EXPECT_EQ(channel.complete(send).code, Code::node_lost);
  Arrived arrived;
  EXPECT_EQ(channel.receive(1, &arrived).code, Code::node_lost);
  EXPECT_EQ(channel.poll(any_node, &arrived), Arrival::lost);
}

}  // namespace
}  // namespace forebay
