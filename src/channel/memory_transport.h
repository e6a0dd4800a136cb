// A transport in memory: nodes in one process, whose threads send each other copies. A message has
// arrived when it is posted.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

#include "channel/mailboxes.h"

namespace forebay {

// Thread rule: any member from any thread. The transport outlives the use of its channels.
class MemoryTransport {
 public:
  explicit MemoryTransport(uint32_t nodes);
  Channel& channel(uint32_t node) { return channels_[node]; }
  // The node is dead from now on; all that wait are told.
  void kill(uint32_t node);

 private:
  class NodeChannel final : public Channel {
   public:
    NodeChannel(MemoryTransport& transport, uint32_t node) : transport_(transport), node_(node) {}
    Arrival poll(uint32_t from, Arrived* arrived) override;
    Status receive(uint32_t from, Arrived* arrived) override;

   private:
    void start(Send& send, uint32_t to, const Message& message) override;
    MemoryTransport& transport_;
    const uint32_t node_;
  };

  std::mutex mutex_;  // guards the mailboxes
  std::condition_variable changed_;
  Mailboxes mailboxes_;
  std::deque<NodeChannel> channels_;
};

}  // namespace forebay
