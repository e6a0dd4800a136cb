// What has arrived at nodes and was not received, and which nodes are dead: the state of a
// transport within one process. Whoever uses it locks and waits.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "channel/channel.h"

namespace forebay {

class Mailboxes {
 public:
  explicit Mailboxes(uint32_t nodes) : boxes_(nodes) {}

  static Arrived copy_of(uint32_t from, const Message& message) {
    return {from, message.kind, message.header, {message.bytes.begin(), message.bytes.end()}};
  }
  // Puts a message into a node's box; node_lost: its sender or the node is dead.
  Status put(uint32_t to, Arrived arrived);
  // Channel::poll() of `node`. A node that is dead itself is told so.
  Arrival take(uint32_t node, uint32_t from, Arrived* arrived);
  // A node dies, and with it what was in its box.
  void kill(uint32_t node);
  bool dead(uint32_t node) const { return boxes_[node].dead; }

 private:
  struct Box {
    std::deque<Arrived> messages;  // in the order of their arrival
    std::deque<uint32_t> deaths;   // of other nodes, that a receiver from any_node was not told
    bool dead = false;
    uint32_t last_death = any_node;  // the other node that died last
  };
  bool alone(uint32_t node) const;

  std::vector<Box> boxes_;
};

}  // namespace forebay
