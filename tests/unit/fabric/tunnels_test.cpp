// Tunnels between two nodes of one process. The ranks' sockets are pairs; an agent is a thread that
// sends back what it receives. The fabric is memory, or libfabric's where the machine has it.

#include "fabric/tunnels.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "agent/agent.h"
#include "agent/connection.h"
#include "agent/kept_handle.h"
#include "agent/line.h"
#include "extent/status.h"
#include "fabric/libfabric.h"

namespace forebay::fabric {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

bool in_time(const std::function<bool()>& holds) {
  for (int attempt = 0; attempt < 4000 && !holds(); ++attempt) poll(nullptr, 0, 5);
  return holds();
}

// A network in memory. What is sent to a node that is cut off is lost, and nobody is told.
class MemoryNetwork {
 public:
  class Node final : public Fabric {
   public:
    Node(MemoryNetwork& network, std::size_t number, std::size_t rooms)
        : network_(network), rooms_(rooms) {
      name_.bytes = 8;
      name_.value[0] = 1 + number;
    }
    ~Node() override {
      const std::lock_guard guard(network_.mutex_);
      network_.nodes_.erase(name_.value[0]);
      close(arrived_);
    }
    const FabricName& name() const override { return name_; }
    std::string description() const override { return "memory"; }
    std::optional<Peer> peer(const FabricName& name) override {
      if (name.bytes != 8) return std::nullopt;
      return static_cast<Peer>(name.value[0]);
    }
    std::span<std::byte> room(Peer /*to*/, bool urgent) override {
      const std::lock_guard guard(network_.mutex_);
      const std::size_t kept = urgent ? 0 : 1;
      if (network_.under_way_ + kept >= rooms_) return {};
      return room_;
    }
    void send(Peer to, std::size_t bytes) override {
      network_.carry(to, Bytes(room_.begin(), room_.begin() + std::ssize(room_.first(bytes))));
    }
    std::optional<Event> next() override {
      uint64_t woken = 0;
      const std::lock_guard guard(network_.mutex_);
      (void)!read(arrived_, &woken, sizeof woken);
      if (!lost_.empty()) {
        const Peer peer = lost_.front();
        lost_.pop_front();
        return Event{Event::Kind::lost, {}, peer};
      }
      if (inbox_.empty()) return std::nullopt;
      message_ = std::move(inbox_.front());
      inbox_.pop_front();
      --network_.under_way_;
      return Event{Event::Kind::message, message_, 0};
    }
    void forget(Peer /*peer*/) override {}
    bool sends() const override { return false; }
    int descriptor() const override { return arrived_; }
    int patience_ms() override { return 20; }

   private:
    friend class MemoryNetwork;
    MemoryNetwork& network_;
    const std::size_t rooms_;
    FabricName name_;
    std::vector<std::byte> memory_ = Bytes(most_message_bytes);
    std::span<std::byte> room_{memory_};
    std::deque<Bytes> inbox_;
    std::deque<Peer> lost_;
    Bytes message_;
    bool cut_off_ = false;
    int arrived_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  };

  // `rooms`: messages that may be under way.
  explicit MemoryNetwork(std::size_t rooms = 64) : rooms_(rooms) {}

  std::unique_ptr<Fabric> join() {
    const std::lock_guard guard(mutex_);
    const std::size_t number = joined_++;
    auto node = std::make_unique<Node>(*this, number, rooms_);
    nodes_[1 + number] = node.get();
    return node;
  }
  // To the node of that name, from nobody.
  void carry(uint64_t to, Bytes message) {
    const std::lock_guard guard(mutex_);
    const auto found = nodes_.find(to);
    if (seen_ != nullptr) seen_->push_back(message);
    if (found == nodes_.end() || found->second->cut_off_) return;
    found->second->inbox_.push_back(std::move(message));
    ++under_way_;
    wake(*found->second);
  }
  void cut_off(const FabricName& name) { set_cut_off(name, true); }
  void join_again(const FabricName& name) { set_cut_off(name, false); }
  void tell_loss(const FabricName& at, const FabricName& of) {
    const std::lock_guard guard(mutex_);
    nodes_.at(at.value[0])->lost_.push_back(static_cast<Peer>(of.value[0]));
    wake(*nodes_.at(at.value[0]));
  }
  // Copies of all messages go there.
  void show(std::vector<Bytes>* seen) {
    const std::lock_guard guard(mutex_);
    seen_ = seen;
  }

 private:
  void set_cut_off(const FabricName& name, bool cut_off) {
    const std::lock_guard guard(mutex_);
    nodes_.at(name.value[0])->cut_off_ = cut_off;
  }
  static void wake(Node& node) {
    const uint64_t one = 1;
    (void)!write(node.arrived_, &one, sizeof one);
  }
  std::mutex mutex_;
  const std::size_t rooms_;
  std::size_t joined_ = 0;
  std::size_t under_way_ = 0;
  std::map<uint64_t, Node*> nodes_;
  std::vector<Bytes>* seen_ = nullptr;
};

void send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

// The bytes until so many have come, or the other end has closed.
Bytes receive_some(int socket, std::size_t count) {
  Bytes bytes(count);
  std::size_t got = 0;
  while (got < count) {
    const ssize_t more = recv(socket, bytes.data() + got, count - got, 0);
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  bytes.resize(got);
  return bytes;
}

Bytes random_bytes(std::size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Listens, and sends back what callers send, until they close.
class EchoAgent {
 public:
  EchoAgent() {
    listener_ = agent::listen_anywhere(&port_);
    accepting_ = std::thread([this] {
      while (true) {
        const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) return;
        const std::lock_guard guard(mutex_);
        sockets_.push_back(socket);
        threads_.emplace_back([this, socket] { echo(socket); });
      }
    });
  }
  ~EchoAgent() {
    resume();
    shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
    for (const int socket : sockets_) close(socket);
    close(listener_);
  }
  int64_t port() const { return port_; }
  void pause() {
    const std::lock_guard guard(mutex_);
    paused_ = true;
  }
  void resume() {
    const std::lock_guard guard(mutex_);
    paused_ = false;
    resumed_.notify_all();
  }
  void hang_up() {
    const std::lock_guard guard(mutex_);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  int64_t callers() {
    const std::lock_guard guard(mutex_);
    return std::ssize(sockets_);
  }
  int64_t gone() {
    const std::lock_guard guard(mutex_);
    return gone_;
  }

 private:
  void echo(int socket) {
    Bytes bytes(100'000);
    while (true) {
      {
        std::unique_lock lock(mutex_);
        resumed_.wait(lock, [this] { return !paused_; });
      }
      const ssize_t got = recv(socket, bytes.data(), bytes.size(), 0);
      if (got <= 0) break;
      send_all(socket, std::span(bytes).first(static_cast<std::size_t>(got)));
    }
    shutdown(socket, SHUT_RDWR);
    const std::lock_guard guard(mutex_);
    ++gone_;
  }

  int listener_ = -1;
  int64_t port_ = 0;
  std::thread accepting_;
  std::mutex mutex_;
  std::condition_variable resumed_;
  bool paused_ = false;
  int64_t gone_ = 0;
  std::list<int> sockets_;
  std::list<std::thread> threads_;
};

// A node with an agent.
struct NodeWithTunnels {
  explicit NodeWithTunnels(std::unique_ptr<Fabric> fabric, Tunnels::Times times = {})
      : name(fabric->name()), tunnels(std::move(fabric), agent.port(), times) {
    started = tunnels.start();
  }
  // The rank's end of a new tunnel, before the answer.
  int call(const FabricName& to) {
    int pair[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    tunnels.begin(pair[1], to);
    return pair[0];
  }
  const FabricName name;
  EchoAgent agent;
  Tunnels tunnels;
  bool started = false;
};

Code answer_on(int socket) {
  const Bytes bytes = receive_some(socket, sizeof(agent::Frame));
  agent::Frame frame;
  if (bytes.size() != sizeof frame) return Code::node_lost;
  std::memcpy(&frame, bytes.data(), sizeof frame);
  EXPECT_EQ(frame.kind, static_cast<uint32_t>(agent::Ask::answer));
  return static_cast<Code>(frame.code);
}

// Sends bytes through the tunnel and takes them back at the same time.
void exchange(int socket, std::size_t count, uint64_t seed) {
  const Bytes sent = random_bytes(count, seed);
  std::thread sender([&] {
    std::mt19937_64 random(seed);
    for (std::size_t at = 0; at < count;) {
      const std::size_t piece = std::min<std::size_t>(1 + random() % 90'000, count - at);
      send_all(socket, std::span(sent).subspan(at, piece));
      at += piece;
    }
  });
  EXPECT_EQ(receive_some(socket, count), sent);
  sender.join();
}

enum class Network { memory, few_rooms, libfabric };

class TunnelsOver : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    for (std::unique_ptr<NodeWithTunnels>& node : nodes_) {
      std::unique_ptr<Fabric> fabric;
      std::string why;
      if (GetParam() == Network::memory) fabric = network_.join();
      if (GetParam() == Network::few_rooms) fabric = small_network_.join();
      if (GetParam() == Network::libfabric) fabric = open_libfabric(&why);
      if (fabric == nullptr) GTEST_SKIP() << why;
      node = std::make_unique<NodeWithTunnels>(std::move(fabric));
      ASSERT_TRUE(node->started);
    }
  }
  NodeWithTunnels& node(std::size_t number) { return *nodes_[number]; }

 private:
  MemoryNetwork network_;
  MemoryNetwork small_network_{4};
  std::unique_ptr<NodeWithTunnels> nodes_[2];
};

std::string name_of(const testing::TestParamInfo<Network>& network) {
  if (network.param == Network::libfabric) return "Libfabric";
  return network.param == Network::memory ? "Memory" : "MemoryWithFewRooms";
}

INSTANTIATE_TEST_SUITE_P(Over, TunnelsOver,
                         testing::Values(Network::memory, Network::few_rooms, Network::libfabric),
                         name_of);

TEST_P(TunnelsOver, BytesGoToAndFro) {
  const int socket = node(0).call(node(1).name);
  ASSERT_EQ(answer_on(socket), Code::ok);
  for (const std::size_t count : {1, 48, 70'000, 3'000'000}) exchange(socket, count, count);
  close(socket);
  EXPECT_TRUE(in_time([&] { return node(1).agent.gone() == 1; }));
  EXPECT_TRUE(in_time([&] { return node(0).tunnels.open() + node(1).tunnels.open() == 0; }));
}

TEST_P(TunnelsOver, ManyAtOnceInBothDirections) {
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < 12; ++rank) {
    ranks.emplace_back([this, rank] {
      const int socket = node(rank % 2).call(node(1 - rank % 2).name);
      EXPECT_EQ(answer_on(socket), Code::ok);
      for (std::size_t round = 0; round < 3; ++round)
        exchange(socket, 400'000 + 1000 * rank, 10 * rank + round);
      close(socket);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_TRUE(in_time([&] { return node(0).tunnels.open() + node(1).tunnels.open() == 0; }));
  EXPECT_EQ(node(0).tunnels.dropped() + node(1).tunnels.dropped(), 0);
}

TEST_P(TunnelsOver, AnAgentThatReadsNothingHoldsUpItsOwnTunnelOnly) {
  node(1).agent.pause();
  const int slow = node(0).call(node(1).name);
  ASSERT_EQ(answer_on(slow), Code::ok);
  const Bytes sent = random_bytes(64 << 10, 1);
  std::size_t taken = 0;
  const auto fill = [&] {
    ssize_t some = 0;
    while ((some = send(slow, sent.data(), sent.size(), MSG_NOSIGNAL | MSG_DONTWAIT)) > 0)
      taken += static_cast<std::size_t>(some);
    poll(nullptr, 0, 100);
  };
  for (std::size_t before = 1; before != taken;) {
    before = taken;
    fill();
  }
  EXPECT_LT(taken, 32u << 20) << "an end keeps what its socket does not take";
  const int quick = node(1).call(node(0).name);
  ASSERT_EQ(answer_on(quick), Code::ok);
  exchange(quick, 1'000'000, 2);
  node(1).agent.resume();
  EXPECT_EQ(receive_some(slow, taken).size(), taken);
  close(slow);
  close(quick);
}

// The rank takes what comes more slowly than it comes, so that its end never has nothing for it.
TEST_P(TunnelsOver, AnEndThatIsAlwaysBehindKeepsLittle) {
  const int socket = node(0).call(node(1).name);
  ASSERT_EQ(answer_on(socket), Code::ok);
  constexpr std::size_t count = 24 << 20;
  const Bytes sent = random_bytes(count, 4);
  std::thread sender([&] { send_all(socket, sent); });
  Bytes got;
  while (got.size() < count) {
    const Bytes some = receive_some(socket, std::min<std::size_t>(100'000, count - got.size()));
    if (some.empty()) break;
    got.insert(got.end(), some.begin(), some.end());
    poll(nullptr, 0, 1);
  }
  sender.join();
  EXPECT_EQ(got, sent);
  EXPECT_LT(node(0).tunnels.most_kept(), 1 << 20);
  EXPECT_LT(node(1).tunnels.most_kept(), 1 << 20);
  close(socket);
}

TEST_P(TunnelsOver, AnEndThatClosesClosesTheOtherAfterItsLastByte) {
  const int socket = node(0).call(node(1).name);
  ASSERT_EQ(answer_on(socket), Code::ok);
  exchange(socket, 10'000, 1);
  node(1).agent.hang_up();
  EXPECT_EQ(receive_some(socket, 1).size(), 0u);
  close(socket);
  EXPECT_TRUE(in_time([&] { return node(0).tunnels.open() + node(1).tunnels.open() == 0; }));
}

TEST_P(TunnelsOver, WhatARankSendsBeforeItClosesArrives) {
  node(1).agent.pause();
  const int socket = node(0).call(node(1).name);
  ASSERT_EQ(answer_on(socket), Code::ok);
  send_all(socket, random_bytes(200'000, 3));
  shutdown(socket, SHUT_WR);
  poll(nullptr, 0, 50);
  EXPECT_EQ(node(1).agent.gone(), 0);
  node(1).agent.resume();
  EXPECT_TRUE(in_time([&] { return node(1).agent.gone() == 1; }));
  close(socket);
}

TEST(Tunnels, ANameThatMakesNoSenseIsAnswered) {
  MemoryNetwork network;
  NodeWithTunnels node(network.join());
  FabricName name;
  name.bytes = 3;
  const int socket = node.call(name);
  EXPECT_EQ(answer_on(socket), Code::network);
  EXPECT_EQ(receive_some(socket, 1).size(), 0u);
  close(socket);
}

TEST(Tunnels, ANodeThatIsNotThereIsAnsweredInTime) {
  MemoryNetwork network;
  NodeWithTunnels node(network.join(), {.opening = 100ms});
  FabricName name;
  name.bytes = 8;
  name.value[0] = 77;
  const int socket = node.call(name);
  EXPECT_EQ(answer_on(socket), Code::network);
  EXPECT_EQ(receive_some(socket, 1).size(), 0u);
  close(socket);
  EXPECT_TRUE(in_time([&] { return node.tunnels.open() == 0; }));
}

TEST(Tunnels, ANodeWithoutAnAgentRefuses) {
  MemoryNetwork network;
  NodeWithTunnels node(network.join());
  std::unique_ptr<Fabric> fabric = network.join();
  const FabricName name = fabric->name();
  int64_t port = 0;
  close(agent::listen_anywhere(&port));
  Tunnels others(std::move(fabric), port);
  ASSERT_TRUE(others.start());
  const int socket = node.call(name);
  // The socket finds out only when it is used: the rank sees an agent that hangs up.
  const Code code = answer_on(socket);
  EXPECT_TRUE(code == Code::network || code == Code::ok);
  EXPECT_EQ(receive_some(socket, 1).size(), 0u);
  close(socket);
}

TEST(Tunnels, ANodeThatFallsSilentIsLost) {
  MemoryNetwork network;
  const Tunnels::Times times{.opening = 4000ms, .silence = 50ms, .lost = 400ms};
  NodeWithTunnels here(network.join(), times);
  NodeWithTunnels there(network.join(), times);
  const int socket = here.call(there.name);
  ASSERT_EQ(answer_on(socket), Code::ok);
  exchange(socket, 1000, 1);
  poll(nullptr, 0, 600);  // longer than lost: it is asked, and says that it is there
  exchange(socket, 1000, 2);
  network.cut_off(there.name);
  EXPECT_EQ(receive_some(socket, 1).size(), 0u);
  network.join_again(there.name);
  const int anew = here.call(there.name);
  ASSERT_EQ(answer_on(anew), Code::ok);
  exchange(anew, 1000, 3);
  close(anew);
  EXPECT_TRUE(in_time([&] { return here.tunnels.open() == 0; }));
  EXPECT_TRUE(in_time([&] { return there.agent.gone() == 2; }));
  close(socket);
}

TEST(Tunnels, AMessageThatIsLostEndsTheTunnelsToItsReceiver) {
  MemoryNetwork network;
  NodeWithTunnels here(network.join());
  NodeWithTunnels there(network.join());
  NodeWithTunnels other(network.join());
  const int lost = here.call(there.name);
  const int kept = here.call(other.name);
  ASSERT_EQ(answer_on(lost), Code::ok);
  ASSERT_EQ(answer_on(kept), Code::ok);
  network.tell_loss(here.name, there.name);
  EXPECT_EQ(receive_some(lost, 1).size(), 0u);
  EXPECT_TRUE(in_time([&] { return there.agent.gone() == 1; })) << "the other end is told";
  exchange(kept, 10'000, 1);
  const int anew = here.call(there.name);
  ASSERT_EQ(answer_on(anew), Code::ok);
  exchange(anew, 10'000, 2);
  close(anew);
  close(lost);
  close(kept);
}

TEST(Tunnels, ARankThatLeavesBeforeTheAnswerLeavesNothingBehind) {
  MemoryNetwork network;
  NodeWithTunnels here(network.join());
  NodeWithTunnels there(network.join());
  for (int i = 0; i < 50; ++i) close(here.call(there.name));
  EXPECT_TRUE(in_time([&] { return there.agent.gone() == there.agent.callers(); }));
  EXPECT_TRUE(in_time([&] { return here.tunnels.open() + there.tunnels.open() == 0; }));
}

TEST(Tunnels, TheirEndClosesAllSockets) {
  MemoryNetwork network;
  auto here = std::make_unique<NodeWithTunnels>(network.join());
  NodeWithTunnels there(network.join());
  const int socket = here->call(there.name);
  ASSERT_EQ(answer_on(socket), Code::ok);
  here.reset();
  EXPECT_EQ(receive_some(socket, 1).size(), 0u);
  EXPECT_TRUE(in_time([&] { return there.agent.gone() == 1; }));
  close(socket);
}

// Messages that others make up: random bytes, and real ones of this and of other tunnels, changed.
TEST(Tunnels, GarbageIsDropped) {
  MemoryNetwork network;
  std::vector<Bytes> seen;
  NodeWithTunnels here(network.join());
  NodeWithTunnels there(network.join());
  network.show(&seen);
  const int first = here.call(there.name);
  ASSERT_EQ(answer_on(first), Code::ok);
  exchange(first, 300'000, 1);
  close(first);
  ASSERT_TRUE(in_time([&] { return here.tunnels.open() == 0; }));
  network.show(nullptr);
  const int socket = here.call(there.name);
  ASSERT_EQ(answer_on(socket), Code::ok);
  std::mt19937_64 random(20261129);
  for (int i = 0; i < 3000; ++i) {
    Bytes message = seen[random() % seen.size()];
    if (i % 3 == 0) message = random_bytes(random() % 300, random());
    if (i % 3 == 1) message.resize(random() % (message.size() + 1));
    for (uint64_t changes = random() % 4; changes > 0 && !message.empty(); --changes)
      message[random() % std::min<std::size_t>(message.size(), 48)] = std::byte(random());
    network.carry((i % 2 == 0 ? here : there).name.value[0], std::move(message));
    if (i % 1000 == 0) exchange(socket, 5000, static_cast<uint64_t>(i));
  }
  exchange(socket, 200'000, 9);
  EXPECT_GT(here.tunnels.dropped(), 100);
  EXPECT_GT(there.tunnels.dropped(), 100);
  close(socket);
}

// An agent with the tunnels of its node.
struct AgentWithTunnels {
  explicit AgentWithTunnels(MemoryNetwork& network) {
    std::unique_ptr<Fabric> fabric = network.join();
    const FabricName name = fabric->name();
    agent.lead_tunnels([this](int socket, const FabricName& to) { tunnels->begin(socket, to); });
    EXPECT_TRUE(agent.start());
    tunnels = std::make_unique<Tunnels>(std::move(fabric), agent.port(),
                                        Tunnels::Times{.opening = 300ms});
    EXPECT_TRUE(tunnels->start());
    address = agent::own_address();
    address.port = agent.port();
    address.key = agent.key();
    address.fabric = name;
  }
  agent::Address address;
  std::unique_ptr<Tunnels> tunnels;
  agent::Agent agent;
};

int times_told = 0;

class TunnelsOfAgents : public testing::Test {
 protected:
  void SetUp() override {
    times_told = 0;
    agent::Lines::of_process().know_own(here_.address, [] { ++times_told; });
  }
  void TearDown() override { agent::Lines::of_process().know_own({}); }
  int64_t ends() const { return here_.tunnels->open() + there_.tunnels->open(); }

  MemoryNetwork network_;
  AgentWithTunnels here_{network_};
  AgentWithTunnels there_{network_};
};

// Whether an agent answers questions on a line.
bool answers(const std::shared_ptr<agent::Line>& line) {
  agent::KeptHandle kept(line);
  kept.set_name(1);
  int64_t position = 0;
  return kept.store(7).ok() && kept.load(&position).ok() && position == 7;
}

TEST_F(TunnelsOfAgents, LinesLeadThroughTheOwnAgent) {
  const std::shared_ptr<agent::Line> line = agent::Lines::of_process().to(there_.address);
  EXPECT_TRUE(answers(line));
  EXPECT_EQ(ends(), 2);
  EXPECT_EQ(there_.agent.served(), 1);
  EXPECT_TRUE(in_time([&] { return here_.agent.served() == 0; }));  // it only carries
  EXPECT_TRUE(answers(agent::Lines::of_process().to(here_.address)));
  EXPECT_EQ(ends(), 2);
  EXPECT_EQ(times_told, 0);
}

TEST_F(TunnelsOfAgents, BothEndsProveThatTheyKnowTheKey) {
  agent::Address wrong = there_.address;
  wrong.key[0] ^= 1;
  EXPECT_FALSE(answers(agent::Lines::of_process().to(wrong)));
  EXPECT_TRUE(in_time([&] { return there_.agent.refused() >= 2; }));  // by tunnel, and by TCP
  EXPECT_TRUE(in_time([&] { return ends() == 0; }));
  agent::Address own = here_.address;
  own.key[0] ^= 1;
  agent::Connection connection;
  EXPECT_EQ(agent::Connection::dial_through(own, there_.address, &connection).code, Code::network);
  EXPECT_EQ(times_told, 0) << "nobody answers over TCP either";
}

TEST_F(TunnelsOfAgents, LinesAreTcpWhereTheFabricDoesNotWork) {
  network_.cut_off(there_.address.fabric);
  EXPECT_TRUE(answers(agent::Lines::of_process().to(there_.address)));
  EXPECT_EQ(times_told, 1);
  AgentWithTunnels third(network_);
  EXPECT_TRUE(answers(agent::Lines::of_process().to(third.address)));
  EXPECT_EQ(third.tunnels->open(), 0);
  EXPECT_EQ(times_told, 1);
}

TEST_F(TunnelsOfAgents, AnAgentWithoutTunnelsSaysSo) {
  agent::Agent plain;
  ASSERT_TRUE(plain.start());
  agent::Address own = agent::own_address();
  own.port = plain.port();
  own.key = plain.key();
  agent::Connection connection;
  EXPECT_EQ(agent::Connection::dial_through(own, there_.address, &connection).code, Code::network);
}

TEST_F(TunnelsOfAgents, AnAgentThatIsKilledEndsTheLine) {
  const std::shared_ptr<agent::Line> line = agent::Lines::of_process().to(there_.address);
  EXPECT_TRUE(answers(line));
  network_.tell_loss(here_.address.fabric, there_.address.fabric);
  const std::unique_lock turn = line->take();
  agent::Frame frame;
  EXPECT_EQ(line->connection().receive_frame(&frame).code, Code::node_lost);
}

}  // namespace
}  // namespace forebay::fabric
