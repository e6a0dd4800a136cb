// A transport in virtual time: messages between nodes take a time that comes from a seed, and
// fibers wait for them. What a process has posted does not arrive if the process dies first.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "channel/mailboxes.h"
#include "extent/seeded_random.h"
#include "sim/fibers.h"

namespace forebay::sim {

class VirtualTransport {
 public:
  // A message takes at most `most_ns`, or until the one before it has arrived.
  VirtualTransport(Fibers& fibers, uint32_t nodes, int64_t most_ns, uint64_t seed);
  // Used by fibers.
  Channel& channel(uint32_t node) { return nodes_[node].channel; }
  // The node is dead from now on, and all that wait are told. Its fibers are the caller's to kill.
  void kill(uint32_t node);

 private:
  class NodeChannel final : public Channel {
   public:
    NodeChannel(VirtualTransport& transport, uint32_t node) : transport_(transport), node_(node) {}
    Arrival poll(uint32_t from, Arrived* arrived) override;
    Status receive(uint32_t from, Arrived* arrived) override;

   private:
    void start(Send& send, uint32_t to, const Message& message) override;
    void finish(Send& send) override;
    VirtualTransport& transport_;
    const uint32_t node_;
  };
  struct Node {
    Node(VirtualTransport& transport, uint32_t number, uint32_t nodes)
        : channel(transport, number), latest_ns(nodes, 0) {}
    NodeChannel channel;
    Fibers::Queue receivers;
    std::vector<int64_t> latest_ns;  // by node: when the last message to it arrives
  };
  struct OnItsWay;
  void arrive(OnItsWay& message);

  Fibers& fibers_;
  const int64_t most_ns_;
  SeededRandom random_;
  Mailboxes mailboxes_;
  std::deque<Node> nodes_;
};

}  // namespace forebay::sim
