// A channel in front of another, whose messages are late, overtake each other, or are not sent. A
// seed decides, so that the same calls meet the same faults.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>

#include "channel/channel.h"
#include "extent/seeded_random.h"

namespace forebay {

struct ChannelFaults {
  int64_t drops_one_in = 0;     // messages: not sent, and the send fails; 0: none
  int64_t delays_one_in = 0;    // messages: kept back during later calls; 0: none
  bool reorders_pairs = false;  // also two messages to the same node overtake each other
};

// Thread rule: any member from any thread.
class FaultyChannel final : public Channel {
 public:
  FaultyChannel(Channel& below, const ChannelFaults& faults, uint64_t seed)
      : below_(below), faults_(faults), random_(seed) {}

  Arrival poll(uint32_t from, Arrived* arrived) override;
  Status receive(uint32_t from, Arrived* arrived) override;

 private:
  struct Late;
  void start(Send& send, uint32_t to, const Message& message) override;
  void finish(Send& send) override;
  using Place = std::list<Late*>::iterator;
  Place let_go(Place place);
  void let_some_go();
  bool happens(int64_t one_in);

  Channel& below_;
  const ChannelFaults faults_;
  std::mutex mutex_;  // guards the members below
  SeededRandom random_;
  std::list<Late*> late_;  // in the order of their posts
};

}  // namespace forebay
