// Tunnels: byte streams between ranks and agents of other nodes, which the nodes' agents carry over
// a Fabric. A tunnel has two ends. At one, the socket of a rank that asked its own agent for it; at
// the other, a socket that leads to the other node's agent, which sees a caller like any other. So
// both still prove to each other that they know the key, and what they say is the same as over TCP.
//
// An end sends no more than the other has room for (its credit). An end whose socket closes closes
// the tunnel. A node that answers nothing for half a minute is lost, with all its tunnels.
//
// All is done by one thread, which sleeps until a socket or the fabric has something.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/fabric.h"

namespace forebay::fabric {

class Tunnels {
 public:
  struct Times {
    std::chrono::milliseconds opening{4000};   // within which the other node must answer
    std::chrono::milliseconds silence{5000};   // after which a node is asked whether it is there
    std::chrono::milliseconds lost{30'000};    // after which it is not
    std::chrono::milliseconds farewell{2000};  // within which the last messages must leave
  };

  // `port`: at which this node's agent listens.
  Tunnels(std::unique_ptr<Fabric> fabric, int64_t port) : Tunnels(std::move(fabric), port, {}) {}
  Tunnels(std::unique_ptr<Fabric> fabric, int64_t port, Times times);
  ~Tunnels();  // closes all, and tells the other ends

  // False: the system has no more threads or descriptors.
  bool start();
  // Leads a tunnel from the socket, which is its own from now on, to the agent of that name. The
  // rank at the socket gets an answer (agent::Frame) before anything else. Any thread may call it.
  void begin(int socket, const FabricName& to);

  // Of this node. Any thread may ask.
  int64_t open() const { return open_.load(); }
  // The most bytes that an end has kept for its socket.
  int64_t most_kept() const { return most_kept_.load(); }
  // Messages that made no sense.
  int64_t dropped() const { return dropped_.load(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Kind : uint32_t { open = 1, opened, data, credit, close, ask_alive, alive };
  struct Head;
  // What an end still has to tell the other.
  struct Owed {
    bool open = false, opened = false, close = false, ask_alive = false, alive = false;
    int64_t credit = 0;
  };
  struct End {
    int socket = -1;  // -1: closed, and only to be told
    Peer peer = 0;
    uint64_t other = 0;  // the number of the other end; 0: it has not answered yet
    int64_t credit = 0;  // bytes that the other end has room for
    std::vector<std::byte> to_socket;
    std::size_t written = 0;  // of these
    int64_t taken = 0;        // bytes that the socket has taken since the last credit
    bool closed_there = false;
    uint32_t watched = 0;  // events of epoll
    Owed owed;
    Clock::time_point began;
  };

  void work();
  void take_turn();
  void hear();
  void end_all();
  void take_new();
  void receive(std::span<const std::byte> message);
  void receive_open(const Head& head, std::span<const std::byte> name);
  void receive_for(uint64_t number, End& end, const Head& head, std::span<const std::byte> bytes);
  void on_socket(uint64_t number, uint32_t events);
  uint64_t remember(End&& end);
  int call_agent() const;
  void answer_rank(uint64_t number, End& end, bool reached);
  bool read_socket(uint64_t number, End& end);
  void write_socket(uint64_t number, End& end);
  void give(uint64_t number, End& end, std::span<const std::byte> bytes);
  void close_here(uint64_t number, End& end);
  void forget(uint64_t number);
  void lose(Peer peer);
  void watch(uint64_t number, End& end);
  void owe(uint64_t number) { owing_.insert(number); }
  void pay_owed();
  bool pay(End& end, uint64_t number);
  bool tell(const End& end, uint64_t number, Kind kind, uint64_t value);
  void look_at_times();

  std::unique_ptr<Fabric> fabric_;
  const int64_t port_;
  const Times times_;
  int events_ = -1;  // epoll
  int wake_ = -1;    // an eventfd
  std::mutex mutex_;
  std::vector<std::pair<int, FabricName>> new_;  // (mutex)
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> open_{0};
  std::atomic<int64_t> most_kept_{0};
  std::atomic<int64_t> dropped_{0};
  std::thread thread_;
  // Of the thread.
  std::unordered_map<uint64_t, End> ends_;  // by numbers that others cannot guess
  std::unordered_map<Peer, Clock::time_point>
      heard_;                   // when peers with tunnels last said something
  std::set<uint64_t> owing_;    // ends that owe something
  std::set<uint64_t> starved_;  // ends that found no room to send
  Clock::time_point looked_{};
};

}  // namespace forebay::fabric
