// The agent of a node: takes calls of ranks of other nodes, and answers what they ask. It runs in
// the committer, so ranks need no thread for it, and it outlives them.
//
// Its threads, the workers, wait together for connections on which something comes. The worker that
// gets one carries out this question alone, however long storage or the rank lets it wait. So there
// are as many workers as questions under way, and few to spare, not one for each rank. No bound
// holds their number: a worker may wait for a rank that waits for another agent.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

#include "agent/connection.h"
#include "agent/rank_server.h"

namespace forebay::agent {

class Agent {
 public:
  static constexpr int64_t most_message_bytes = 256 << 20;

  // `message_bytes`: the memory for questions under way.
  explicit Agent(int64_t message_bytes = most_message_bytes) : state_(message_bytes) {}
  ~Agent();  // ends all connections
  // Ranks that want a tunnel to another agent are left to this function, with their sockets. Called
  // before start().
  void lead_tunnels(std::function<void(int socket, const FabricName& to)> begin_tunnel);
  // Begins to listen, with as many descriptors as the process may have. False: the system refuses.
  bool start();
  int64_t port() const { return port_; }
  const Key& key() const { return state_.key; }
  // Ranks that are being served.
  int64_t served() const { return served_.load(); }
  // Callers that did not know the key, or came while too many others had not proved it yet.
  int64_t refused() const { return refused_.load(); }
  int64_t workers() const { return workers_.load(); }
  const MessageMemory& memory() const { return state_.memory; }

 private:
  struct Caller {
    Caller(Connection&& accepted, AgentState& state)
        : connection(std::move(accepted)), server(connection, state) {}
    Connection connection;
    RankServer server;
    std::list<Caller>::iterator self;
    // Held by its worker, who watches the connection again just before it gives the lock back.
    std::mutex turn;
  };

  bool watch(int descriptor, void* what, bool anew);
  bool begin_worker();
  void work();
  void take_call();
  Caller* remember(Connection&& accepted);
  void serve(Caller& caller);
  bool await(Caller& caller, bool anew);
  void leave_to_tunnel(Caller& caller);
  void forget(Caller& caller);

  AgentState state_;
  std::function<void(int, const FabricName&)> begin_tunnel_;
  int64_t port_ = 0;
  int socket_ = -1;
  int events_ = -1;  // epoll: the socket, the connections that wait for a question, and stop_
  int stop_ = -1;    // an eventfd, which wakes all workers
  std::mutex mutex_;
  std::condition_variable ended_;
  std::list<Caller> callers_;        // (mutex)
  std::atomic<int64_t> workers_{0};  // changed under the mutex
  std::atomic<int64_t> idle_{0};     // workers that wait for events
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> proving_{0};  // callers that have not proved yet to know the key
  std::atomic<int64_t> served_{0};
  std::atomic<int64_t> refused_{0};
};

}  // namespace forebay::agent
