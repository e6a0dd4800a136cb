// The connection between this process and an agent. All files that the agent's node owns bytes of
// share it, so a rank has as many connections as there are owners, however many files it opens. It
// is connected at the first question.
//
// A question holds the line until its answer has come. A thread that asks several agents at once
// takes their lines in the order of their addresses in memory: then no two threads wait for each
// other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "agent/connection.h"
#include "agent/told_steps.h"

namespace forebay::agent {

class Line {
 public:
  explicit Line(const Address& agent) : agent_(agent) {}

  // The caller waits for its turn, and uses the rest only until it gives back the lock.
  std::unique_lock<std::mutex> take() { return std::unique_lock(mutex_); }
  // Dials, if nobody is on the line. Code::network: nobody answers there.
  Status connect();
  Connection& connection() { return connection_; }
  // Of the connection that stands. What an agent knew of a file goes with the connection.
  uint64_t number() const { return number_; }
  uint64_t new_file() { return ++files_; }
  // Of the agent's node, as traces name it.
  uint64_t cache() const { return number_of_cache(agent_.key); }

 private:
  const Address agent_;
  std::mutex mutex_;
  Connection connection_;
  uint64_t number_ = 0;
  uint64_t files_ = 0;
};

// The lines of a process. Any thread may use it.
class Lines {
 public:
  std::shared_ptr<Line> to(const Address& agent);
  static Lines& of_process();

  // This node's agent, which is called over the loopback first. If it has a name in libfabric's
  // network, it carries the lines to others that have one. `failed` is called once, where such a
  // line does not come about but one over TCP does, as then do all.
  void know_own(const Address& own, void (*failed)() = nullptr);
  // Whether it does so.
  bool lead_through_own();

 private:
  std::mutex mutex_;
  friend class Line;
  Status dial(const Address& agent, Connection* connection);

  std::map<Key, std::weak_ptr<Line>> lines_;  // by the agents' keys
  Address own_;                               // the loopback first
  void (*failed_)() = nullptr;
};

}  // namespace forebay::agent
