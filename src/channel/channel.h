// How a node sends messages to the other nodes of a job, and receives theirs: the sibling of
// Storage. A transport gives each node its channel. Implementations: nodes in one process
// (memory_transport.h), in virtual time (sim/virtual_transport.h), and a faulty one in front of any
// other (faulty_channel.h).
//
// Two messages of one node to another arrive in the order in which they were posted. Nothing is
// said of the order of messages of different nodes.
//
// A node dies once, with all its processes. Sends to it fail from then on. What it had sent may
// still arrive, if it had been on its way long enough; then receiving from it fails. Nobody waits
// for the dead.
#pragma once

#include <cstdint>

#include "channel/message.h"

namespace forebay {

inline constexpr uint32_t any_node = 0xffffffffu;

enum class Arrival : uint8_t {
  message,
  nothing,  // yet
  lost,     // the node is dead, and nothing of it will arrive
};

// Thread rule: any member from any thread.
class Channel {
 public:
  virtual ~Channel() = default;

  // Begins to send. The message's bytes stay in place until complete() returns.
  void post(Send& send, uint32_t to, const Message& message);
  // Waits until the message has arrived at the other node, whether or not it was received there;
  // node_lost: one of the two nodes is dead.
  Status complete(Send& send);
  // post() and complete().
  Status send(uint32_t to, const Message& message);

  // The next message from a node, or from any_node. lost: arrived->from says which node is dead. A
  // receiver from any_node is told of each death once, after the node's messages; when no other
  // node lives and all deaths were told, it is told the last one again and again.
  virtual Arrival poll(uint32_t from, Arrived* arrived) = 0;
  // The same, but waits for it; node_lost: arrived->from is dead.
  virtual Status receive(uint32_t from, Arrived* arrived) = 0;

 private:
  // The two halves of a send. If start() throws, nothing is under way; finish() waits until end()
  // has been called.
  virtual void start(Send& send, uint32_t to, const Message& message) = 0;
  virtual void finish(Send&) {}
};

}  // namespace forebay
