// The agent of a node: takes calls of ranks of other nodes, and serves each on a thread of its own.
// It runs in the committer, so ranks need no thread for it, and it outlives them.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

#include "agent/connection.h"
#include "agent/file_server.h"

namespace forebay::agent {

class Agent {
 public:
  static constexpr int64_t most_message_bytes = 256 << 20;

  // `message_bytes`: the memory for questions under way.
  explicit Agent(int64_t message_bytes = most_message_bytes) : state_(message_bytes) {}
  ~Agent();  // ends all connections
  // Begins to listen, with as many descriptors as the process may have. False: the system refuses.
  bool start();
  int64_t port() const { return port_; }
  const Key& key() const { return state_.key; }
  // Ranks that are being served.
  int64_t served() const { return served_.load(); }
  // Callers that did not know the key, or came while too many others had not proved it yet.
  int64_t refused() const { return refused_.load(); }
  const MessageMemory& memory() const { return state_.memory; }

 private:
  struct Caller {
    Connection connection;
    std::thread thread;
    std::atomic<bool> ended{false};
  };
  void listen();
  void serve(Caller& caller);
  void forget_ended();

  AgentState state_;
  int64_t port_ = 0;
  int socket_ = -1;
  std::thread listener_;
  std::mutex mutex_;
  std::list<Caller> callers_;  // (mutex)
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> proving_{0};  // callers that have not proved yet to know the key
  std::atomic<int64_t> served_{0};
  std::atomic<int64_t> refused_{0};
};

}  // namespace forebay::agent
