// Lists between nodes: what arrives, what is answered, and what happens to those of the dead.
#include "channel/list_exchange.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "channel/memory_transport.h"

namespace forebay {
namespace {

// A run of bytes in memory, as a request of two segments.
class ScatteredRun {
 public:
  ScatteredRun(int64_t offset, const std::string& text) : text_(text) {
    const auto half = static_cast<int64_t>(text_.size() / 2);
    auto* const bytes = reinterpret_cast<std::byte*>(text_.data());
    segments_ = {{bytes, half}, {bytes + half, std::ssize(text_) - half}};
    request_ = {offset, segments_};
  }
  ScatteredRun(const ScatteredRun&) = delete;
  ScatteredRun& operator=(const ScatteredRun&) = delete;
  const Request& request() const { return request_; }

 private:
  std::string text_;
  std::vector<Segment> segments_;
  Request request_{};
};

// What came, as "offset:bytes" by offset.
std::vector<std::string> shown(const ListExchange& exchange) {
  std::vector<std::string> all;
  for (const Received& run : exchange.received()) {
    const std::byte* const bytes = exchange.messages()[run.message] + run.in_message;
    all.push_back(std::to_string(run.extent.offset) + ":" +
                  std::string(reinterpret_cast<const char*>(bytes),
                              static_cast<std::size_t>(run.extent.length)));
  }
  return all;
}

// Runs act(exchange) of each node, in a thread of its own.
void on_nodes(uint32_t nodes, MemoryTransport& transport,
              const std::function<void(ListExchange&)>& act) {
  std::vector<std::thread> threads;
  for (uint32_t node = 0; node < nodes; ++node) {
    threads.emplace_back([&, node] {
      ListExchange exchange(transport.channel(node), node, nodes);
      act(exchange);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class ListExchangeTest : public testing::TestWithParam<uint32_t> {};

TEST_P(ListExchangeTest, EachNodeGetsWhatIsForIt) {
  const uint32_t nodes = GetParam();
  MemoryTransport transport(nodes);
  on_nodes(nodes, transport, [nodes](ListExchange& exchange) {
    const uint32_t self = exchange.self();
    std::deque<ScatteredRun> runs;
    std::vector<std::vector<Request>> requests(nodes);
    std::vector<std::span<const Request>> lists;
    for (uint32_t node = 0; node < nodes; ++node) {
      // Node 0 gets nothing.
      for (int part = 0; part < 2 && node != 0; ++part) {
        const int64_t offset = 1000 * part + 10 * self;
        const std::string text = "from" + std::to_string(self) + "to" + std::to_string(node);
        requests[node].push_back(runs.emplace_back(offset, text).request());
      }
      lists.emplace_back(requests[node]);
    }
    // The last node has more for node 0, from offset 500 on; all nodes learn that there is more.
    std::vector<int64_t> rests(nodes, ListExchange::nothing_left);
    if (self == nodes - 1) rests[0] = 500;
    EXPECT_TRUE(exchange.exchange(lists, rests));
    EXPECT_EQ(exchange.complete_before(), self == 0 ? 500 : ListExchange::nothing_left);
    std::vector<std::string> expected;
    for (int part = 0; part < 2 && self != 0; ++part) {
      for (uint32_t from = 0; from < nodes; ++from) {
        if (from == self) continue;
        expected.push_back(std::to_string(1000 * part + 10 * from) + ":from" +
                           std::to_string(from) + "to" + std::to_string(self));
      }
    }
    EXPECT_EQ(shown(exchange), expected);
    // Node 1 took nothing.
    std::vector<bool> taken(nodes, false);
    exchange.answer(self != 1, [&](uint32_t node, bool took) { taken[node] = took; });
    for (uint32_t node = 0; node < nodes; ++node) EXPECT_EQ(taken[node], node != self && node != 1);
    rests.assign(nodes, ListExchange::nothing_left);
    EXPECT_FALSE(exchange.exchange({}, rests));
    EXPECT_EQ(exchange.complete_before(), ListExchange::nothing_left);
    EXPECT_TRUE(exchange.received().empty());
    exchange.answer(true, [](uint32_t, bool) {});
  });
}

INSTANTIATE_TEST_SUITE_P(Nodes, ListExchangeTest, testing::Values(2, 3, 4, 7));

TEST(ListExchange, TheDeadTakeNothingAndNobodyWaitsForThem) {
  MemoryTransport transport(3);
  transport.kill(1);
  on_nodes(3, transport, [](ListExchange& exchange) {
    if (exchange.self() == 1) return;
    const ScatteredRun run(5, "bytes");
    const std::vector<Request> requests{run.request()};
    const std::vector<std::span<const Request>> lists(3, requests);
    const std::vector<int64_t> rests(3, ListExchange::nothing_left);
    EXPECT_FALSE(exchange.exchange(lists, rests));
    EXPECT_EQ(shown(exchange), std::vector<std::string>{"5:bytes"});
    exchange.answer(true, [](uint32_t node, bool taken) { EXPECT_EQ(taken, node != 1); });
  });
}

TEST(ListExchange, EachNodeHearsTheFactsOfTheOthers) {
  MemoryTransport transport(4);
  on_nodes(4, transport, [](ListExchange& exchange) {
    int64_t sum = 0;
    exchange.gather({1 << exchange.self(), 0, 7}, [&](const ListExchange::Facts& theirs) {
      sum += theirs[0];
      EXPECT_EQ(theirs[2], 7);
    });
    EXPECT_EQ(sum, 15 - (1 << exchange.self()));
  });
}

}  // namespace
}  // namespace forebay
