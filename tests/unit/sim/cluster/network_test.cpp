// The network of the cluster simulator: delays, rates, losses, TCP, and the two levels of detail.
#include "sim/cluster/network.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/cluster/kernel.h"
#include "sim/cluster/tcp_stream.h"

namespace forebay::sim {
namespace {

NetworkProfile gigabit_network() {
  NetworkProfile profile;
  profile.least_buffer = 1 << 30;
  return profile;
}

NetworkProfile ten_gigabit_network() {
  NetworkProfile profile = gigabit_network();
  profile.bits_per_second = 1e10;
  profile.host_delay = 6'600 * nanosecond;
  profile.switch_delay = 5 * microsecond;
  profile.mtu = 9000;
  profile.mss = 8960;
  profile.window = 1 << 20;
  return profile;
}

// A network whose messages and pings are noted as they arrive, by the word that they were sent
// with.
struct NetworkOfHosts final : Event {
  NetworkOfHosts(const NetworkProfile& profile, uint32_t hosts) : network(kernel, profile, hosts) {}
  void happen(uint64_t word) override { arrived.emplace_back(kernel.now(), word); }
  void send(uint32_t from, uint32_t to, int64_t bytes, uint64_t word = 0) {
    network.send(from, to, bytes, {this, word});
  }
  Picoseconds run() {
    EXPECT_TRUE(kernel.run());
    return arrived.empty() ? 0 : arrived.back().first;
  }

  Kernel kernel;
  Network network;
  std::vector<std::pair<Picoseconds, uint64_t>> arrived;
};

// Sends messages from host 0 to host 1, each one when the one before has arrived.
struct MessageChain final : Event {
  MessageChain(const NetworkProfile& profile, int64_t bytes_of_each, int messages)
      : network(kernel, profile, 2), bytes(bytes_of_each), left(messages) {
    happen(0);
    EXPECT_TRUE(kernel.run());
    EXPECT_EQ(left, -1);
    EXPECT_EQ(network.counts().dropped, 0u);
  }
  void happen(uint64_t) override {
    last = kernel.now();
    if (left-- > 0) network.send(0, 1, bytes, {this, 0});
  }

  Kernel kernel;
  Network network;
  int64_t bytes;
  int left;
  Picoseconds last = 0;
};

Picoseconds time_of_messages(const NetworkProfile& profile, int64_t bytes, int messages = 1) {
  return MessageChain(profile, bytes, messages).last;
}

// 32 hosts send four messages each to host 0.
struct InCast {
  explicit InCast(int64_t buffer, uint32_t senders = 32, int64_t bytes = 256'000)
      : cluster(with_buffer(buffer), senders + 1) {
    for (uint32_t sender = 1; sender <= senders; ++sender) {
      for (uint64_t i = 0; i < 4; ++i) cluster.send(sender, 0, bytes, sender * 100 + i);
    }
    took = cluster.run();
    goodput = 4.0 * senders * static_cast<double>(bytes) * 1e12 / static_cast<double>(took);
  }
  static NetworkProfile with_buffer(int64_t buffer) {
    NetworkProfile profile = gigabit_network();
    profile.buffer_per_port = 0;
    profile.least_buffer = buffer;
    return profile;
  }
  NetworkOfHosts cluster;
  Picoseconds took;
  double goodput;  // bytes a second
};

TEST(Network, PingTakesThePublishedTimes) {
  NetworkOfHosts slow(gigabit_network(), 2);
  slow.network.ping(0, 1, 56, {&slow, 0});
  EXPECT_EQ(slow.run(), 97'864 * nanosecond);
  NetworkOfHosts fast(ten_gigabit_network(), 2);
  fast.network.ping(0, 1, 56, {&fast, 0});
  EXPECT_EQ(fast.run(), 36'726'400);
  EXPECT_EQ(fast.network.counts().frames, 2u);
  EXPECT_EQ(fast.network.sending_time(0), 81'600);
  EXPECT_EQ(fast.network.receiving_time(0), 81'600);
}

TEST(Network, SmallMessageTakesOneFrame) {
  for (const bool by_frames : {true, false}) {
    NetworkProfile profile = gigabit_network();
    profile.by_frames = by_frames;
    EXPECT_EQ(time_of_messages(profile, 44), 2 * (23'400 + 816) * nanosecond + 500 * nanosecond);
  }
}

TEST(Network, BulkComesCloseToTheLinksRate) {
  NetworkProfile profile = gigabit_network();
  for (const bool by_frames : {true, false}) {
    profile.by_frames = by_frames;
    const auto took = static_cast<double>(time_of_messages(profile, 100'000'000));
    EXPECT_GT(took, 0.8e12);
    EXPECT_LT(took, 0.8e12 * 1.06);
  }
}

// A host that processes one frame at a time: a segment and half of an acknowledgement take it
// longer than the link takes for the segment. A ping is not delayed.
TEST(Network, SerialHostsLimitTheRate) {
  NetworkProfile profile = gigabit_network();
  profile.serial_hosts = true;
  constexpr int64_t bytes = 20'000'000;
  const Picoseconds processing = bytes / profile.mss * profile.host_delay * 3 / 2;
  for (const bool by_frames : {true, false}) {
    profile.by_frames = by_frames;
    const Picoseconds took = time_of_messages(profile, bytes);
    EXPECT_GT(took, processing * 99 / 100) << by_frames;
    EXPECT_LT(took, processing * 106 / 100) << by_frames;
  }
  NetworkOfHosts cluster(profile, 2);
  cluster.network.ping(0, 1, 56, {&cluster, 0});
  EXPECT_EQ(cluster.run(), 97'864 * nanosecond);
}

TEST(Network, WindowLimitsALongWay) {
  NetworkProfile profile = gigabit_network();
  profile.host_delay = millisecond;
  for (const bool by_frames : {true, false}) {
    profile.by_frames = by_frames;
    const auto took = static_cast<double>(time_of_messages(profile, 10'000'000));
    const double round_trip = 4.05e9;
    EXPECT_NEAR(took, 1e7 / 65'536 * round_trip, 0.05 * took);
  }
}

TEST(Network, MessagesToItselfAreCopiedOneAfterTheOther) {
  NetworkProfile profile = gigabit_network();
  profile.copy_bytes_per_second = 1e9;
  NetworkOfHosts cluster(profile, 1);
  cluster.send(0, 0, 1000, 0);
  cluster.send(0, 0, 500, 1);
  cluster.run();
  const std::vector<std::pair<Picoseconds, uint64_t>> expected = {{microsecond, 0},
                                                                  {1500 * nanosecond, 1}};
  EXPECT_EQ(cluster.arrived, expected);
  EXPECT_EQ(cluster.network.counts().frames, 0u);
}

TEST(Network, FramesForOneHostWaitAtItsPort) {
  NetworkProfile profile = gigabit_network();
  profile.least_buffer = 0;
  profile.buffer_per_port = 102;
  NetworkOfHosts cluster(profile, 5);
  cluster.network.ping(0, 4, 56, {&cluster, 0});
  cluster.network.ping(1, 4, 56, {&cluster, 1});
  cluster.network.ping(2, 4, 56, {&cluster, 2});  // no room: one is on the link, one waits
  cluster.run();
  const std::vector<std::pair<Picoseconds, uint64_t>> expected = {{97'864 * nanosecond, 0},
                                                                  {98'680 * nanosecond, 1}};
  EXPECT_EQ(cluster.arrived, expected);
  EXPECT_EQ(cluster.network.counts().dropped, 1u);
  EXPECT_EQ(cluster.network.highest_fill(), 102);
}

// A second port in use, though no frame waits for it, adds its share of the buffer.
TEST(Network, BufferGrowsWithThePortsInUse) {
  NetworkProfile profile = gigabit_network();
  profile.buffer_per_port = 102;
  for (const auto& [least, most, dropped] :
       {std::tuple{0, 0, 0u}, {0, 102, 1u}, {204, 0, 0u}, {0, 204, 0u}}) {
    profile.least_buffer = least;
    profile.most_buffer = most;
    NetworkOfHosts cluster(profile, 6);
    cluster.network.ping(3, 5, 56, {&cluster, 0});
    for (uint32_t from = 0; from < 3; ++from) cluster.network.ping(from, 4, 56, {&cluster, from});
    cluster.run();
    EXPECT_EQ(cluster.network.counts().dropped, dropped) << least << " " << most;
  }
}

TEST(Network, CardDropsWhatItsQueueDoesNotHold) {
  NetworkProfile profile = gigabit_network();
  profile.nic_queue_frames = 2;
  profile.nic_transmit_limit_frames = 1;
  NetworkOfHosts cluster(profile, 2);
  for (uint64_t i = 0; i < 10; ++i) cluster.network.ping(0, 1, 56, {&cluster, i});
  cluster.run();
  EXPECT_EQ(cluster.arrived.size(), 4u);  // one on the link, three wait
  EXPECT_EQ(cluster.network.counts().dropped, 6u);
  cluster.send(0, 1, 1'000'000);
  cluster.run();
  EXPECT_EQ(cluster.arrived.size(), 5u);
  EXPECT_GT(cluster.network.counts().retransmitted, 0u);
}

TEST(Network, SlowStartTakesRoundTrips) {
  NetworkProfile profile = gigabit_network();
  const Picoseconds at_once = time_of_messages(profile, 31 * 1460);
  profile.first_window = 1460;
  const Picoseconds in_steps = time_of_messages(profile, 31 * 1460);
  EXPECT_GT(in_steps, at_once + 3 * 96 * microsecond);  // after 1, 3, 7 and 15 segments
  EXPECT_LT(in_steps, at_once + 5 * 150 * microsecond);
}

TEST(Network, InCastCollapses) {
  const InCast ample(8 << 20), tiny(16 << 10);
  EXPECT_EQ(ample.cluster.network.counts().dropped, 0u);
  EXPECT_GT(ample.goodput, 0.9 * 125e6);
  EXPECT_LT(tiny.goodput, 0.3 * ample.goodput);
  EXPECT_GT(tiny.cluster.network.counts().timeouts, 0u);
  EXPECT_LE(tiny.cluster.network.highest_fill(), 16 << 10);
  RecordProperty("share_of_goodput", std::to_string(tiny.goodput / ample.goodput));
}

TEST(Network, LosesNoMessageAndKeepsTheirOrder) {
  for (const int64_t buffer : {0, 2'000, 16'000, 100'000}) {
    for (const int64_t bytes : {1, 1'000, 50'000}) {
      const InCast in_cast(buffer, 12, bytes);
      std::map<uint64_t, uint64_t> next;
      for (const auto& [time, word] : in_cast.cluster.arrived) {
        EXPECT_EQ(word % 100, next[word / 100]++);
      }
      EXPECT_EQ(in_cast.cluster.arrived.size(), 48u);
      EXPECT_EQ(next.size(), 12u);
    }
  }
}

TEST(Network, RepeatsItselfExactly) {
  const InCast one(20'000), other(20'000);
  EXPECT_EQ(one.cluster.arrived, other.cluster.arrived);
  EXPECT_EQ(one.cluster.kernel.happened(), other.cluster.kernel.happened());
  EXPECT_EQ(one.cluster.network.counts().frames, other.cluster.network.counts().frames);
  EXPECT_EQ(one.cluster.network.counts().dropped, other.cluster.network.counts().dropped);
}

// What arrives may send on, to hosts that had no stream before.
TEST(Network, MayBeUsedFromWhatItLetsHappen) {
  struct Relay final : Event {
    explicit Relay(const NetworkProfile& profile) : network(kernel, profile, 50) {}
    void happen(uint64_t word) override {
      ++arrived;
      if (word + 1 < 50) {
        const auto host = static_cast<uint32_t>(word);
        network.send(host, host + 1, 100'000, {this, word + 1});
        network.send(host, host + 1, 1, {this, 50});
      }
    }
    Kernel kernel;
    Network network;
    int arrived = 0;
  };
  for (const bool by_frames : {true, false}) {
    NetworkProfile profile = gigabit_network();
    profile.by_frames = by_frames;
    Relay relay(profile);
    relay.happen(0);
    EXPECT_TRUE(relay.kernel.run());
    EXPECT_EQ(relay.arrived, 1 + 2 * 49);
  }
}

// Random messages among 6 hosts, of which each stream's arrive in the order in which they were
// sent.
void expect_order(const NetworkProfile& profile) {
  NetworkOfHosts hosts(profile, 6);
  std::mt19937_64 random(1);
  std::map<uint64_t, uint64_t> sent, arrived;  // messages of each pair
  for (int i = 0; i < 2000; ++i) {
    const auto from = static_cast<uint32_t>(random() % 6), to = static_cast<uint32_t>(random() % 6);
    const uint64_t pair = from * 6 + to;
    hosts.send(from, to, static_cast<int64_t>(uint64_t{1} << random() % 18),
               pair << 32 | sent[pair]++);
    if (random() % 4 == 0) hosts.kernel.run(random() % 100);
  }
  hosts.run();
  for (const auto& [time, word] : hosts.arrived) {
    EXPECT_EQ(word & UINT32_MAX, arrived[word >> 32]++);
  }
  EXPECT_EQ(sent, arrived);
  EXPECT_EQ(hosts.network.counts().messages, 2000u);
}

TEST(Network, KeepsTheOrderOfRandomMessages) {
  for (const bool by_frames : {true, false}) {
    for (const int64_t buffer : {5'000, 1 << 30}) {
      NetworkProfile profile = InCast::with_buffer(buffer);
      profile.by_frames = by_frames;
      expect_order(profile);
      profile.host_delay = millisecond;  // the window limits
      expect_order(profile);
    }
  }
}

void expect_levels_agree(NetworkProfile profile, int64_t bytes, int messages) {
  const auto frames = static_cast<double>(time_of_messages(profile, bytes, messages));
  profile.by_frames = false;
  const auto whole = static_cast<double>(time_of_messages(profile, bytes, messages));
  EXPECT_NEAR(whole / frames, 1, 0.05) << bytes << " bytes, " << messages << " messages";
}

TEST(NetworkLevels, AgreeOnOneStream) {
  NetworkProfile far = ten_gigabit_network();
  far.window = 65'536;  // less than what fits on the way
  for (const NetworkProfile& profile : {gigabit_network(), ten_gigabit_network(), far}) {
    for (int64_t bytes = 1; bytes <= 10'000'000; bytes = bytes * 3 + 1) {
      expect_levels_agree(profile, bytes, 1);
      expect_levels_agree(profile, bytes, 10);
    }
    expect_levels_agree(profile, 10'000'000, 1);
    expect_levels_agree(profile, 10'000'000, 10);
  }
}

// To whom each of 8 hosts sends its 8 messages: all to one partner, to all in another order than
// the other hosts, to all in the same order.
enum class MessagePattern { pairs, turns, same_order };

double time_of_eight(NetworkProfile profile, bool by_frames, int64_t bytes,
                     MessagePattern pattern) {
  profile.by_frames = by_frames;
  NetworkOfHosts cluster(profile, 16);
  for (uint32_t round = 0; round < 8; ++round) {
    for (uint32_t from = 0; from < 8; ++from) {
      const uint32_t first = pattern == MessagePattern::same_order ? 0 : from;
      cluster.send(from, 8 + (pattern == MessagePattern::pairs ? first : first + round) % 8, bytes);
    }
  }
  const auto took = static_cast<double>(cluster.run());
  EXPECT_EQ(cluster.arrived.size(), 64u);
  EXPECT_EQ(cluster.network.counts().dropped, 0u);
  return took;
}

TEST(NetworkLevels, AgreeOnEightToEight) {
  for (const NetworkProfile& profile : {gigabit_network(), ten_gigabit_network()}) {
    for (const MessagePattern pattern :
         {MessagePattern::pairs, MessagePattern::turns, MessagePattern::same_order}) {
      for (const int64_t bytes : {1, 1'000, 10'000, 100'000, 300'000, 1'000'000, 5'000'000}) {
        const double frames = time_of_eight(profile, true, bytes, pattern);
        const double whole = time_of_eight(profile, false, bytes, pattern);
        EXPECT_NEAR(whole / frames, 1, 0.05) << bytes << " " << static_cast<int>(pattern);
      }
    }
  }
}

TEST(NetworkLevels, MessageTakesTwoEvents) {
  NetworkProfile profile = gigabit_network();
  profile.by_frames = false;
  NetworkOfHosts cluster(profile, 2);
  cluster.send(0, 1, 1'000'000'000);
  cluster.run();
  EXPECT_EQ(cluster.kernel.happened(), 2u);
}

// A sender of 1000-byte segments that has ten of them on the way.
struct TenOnTheWay {
  TenOnTheWay() {
    sender.write(20'000);
    while (next().bytes > 0) {
    }
  }
  TcpSegment next() { return sender.next(profile, 0); }
  void acknowledge(int64_t end) { sender.acknowledge(profile, end, microsecond); }

  TcpProfile profile{.segment = 1000, .window = 10'000, .first_window = 10'000};
  TcpSender sender{profile};
};

TEST(TcpSender, SendsTheLostSegmentAfterThreeDuplicates) {
  TenOnTheWay sending;
  sending.acknowledge(0);
  sending.acknowledge(0);
  EXPECT_EQ(sending.next().bytes, 0);
  sending.acknowledge(0);
  const TcpSegment again = sending.next();
  EXPECT_TRUE(again.again);
  EXPECT_EQ(std::pair(again.begin, again.bytes), std::pair(int64_t{0}, int64_t{1000}));
  sending.acknowledge(4000);  // the fifth was lost as well
  EXPECT_EQ(sending.next().begin, 4000);
  sending.acknowledge(10'000);
  EXPECT_EQ(sending.sender.congestion_window(), 5000);
  EXPECT_FALSE(sending.next().again);
}

TEST(TcpSender, BeginsWithOneSegmentAfterATimeoutAndDoublesTheTime) {
  TenOnTheWay sending;
  EXPECT_EQ(sending.sender.deadline(), 200 * millisecond);
  sending.sender.time_out(sending.profile, 200 * millisecond);
  EXPECT_EQ(sending.sender.deadline(), 600 * millisecond);
  EXPECT_EQ(sending.next().begin, 0);
  EXPECT_EQ(sending.next().bytes, 0);
  sending.acknowledge(1000);
  EXPECT_EQ(sending.next().begin, 1000);
  EXPECT_EQ(sending.next().begin, 2000);
  EXPECT_EQ(sending.next().bytes, 0);
}

TEST(TcpReceiver, PutsPiecesInOrder) {
  Pool<EarlyRange> early;
  TcpReceiver receiver;
  EXPECT_FALSE(receiver.receive(early, 0, 10, false));
  EXPECT_TRUE(receiver.receive(early, 10, 20, false));  // the second one
  EXPECT_TRUE(receiver.receive(early, 20, 30, true));
  EXPECT_TRUE(receiver.receive(early, 60, 70, false));
  EXPECT_TRUE(receiver.receive(early, 40, 50, false));
  EXPECT_TRUE(receiver.receive(early, 80, 90, false));
  EXPECT_EQ(early.in_use(), 3u);
  EXPECT_TRUE(receiver.receive(early, 45, 65, false));
  EXPECT_EQ(early.in_use(), 2u);
  EXPECT_EQ(receiver.expected(), 30);
  EXPECT_TRUE(receiver.receive(early, 30, 40, false));
  EXPECT_EQ(receiver.expected(), 70);
  EXPECT_TRUE(receiver.receive(early, 0, 10, false));  // again
  EXPECT_TRUE(receiver.receive(early, 70, 80, false));
  EXPECT_EQ(receiver.expected(), 90);
  EXPECT_EQ(early.in_use(), 0u);
}

}  // namespace
}  // namespace forebay::sim
