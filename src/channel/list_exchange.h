// The messages of a hand-over (engine/hand_over.h): each node sends each other node a list of bytes
// of a file, and learns whether the other took it. Only a node that can make room gets the bytes.
//
// In step s a node meets the node s after it, to which it sends, and the node s before it. A pair's
// messages, in order: an offer, a grant in return unless the list is empty, the list if it was
// granted; later an answer in return.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "channel/channel.h"
#include "engine/io_plan.h"
#include "extent/extent.h"
#include "storage/transfer.h"

namespace forebay {

// All nodes make the same calls, in the same order. Nobody waits for the dead: their lists are
// empty, and they take nothing.
class ListExchange {
 public:
  using Settle = std::function<void(uint32_t node, bool taken)>;
  using Facts = std::array<int64_t, 6>;

  // `channel`: of node `self`, one of `count`. It outlives the exchange.
  ListExchange(Channel& channel, uint32_t self, uint32_t count);

  uint32_t count() const { return static_cast<uint32_t>(sent_.size()); }
  uint32_t self() const { return self_; }

  // Calls tell(theirs) with each other node's facts.
  void gather(const Facts& mine, const std::function<void(const Facts& theirs)>& tell);
  // Sends lists[node] to each other node (no lists: nothing), and keeps what came until answer().
  // rests[node]: the first offset of what this node sends that node later, or nothing_left. Returns
  // whether any node has more for any other.
  bool exchange(std::span<const std::span<const Request>> lists, std::span<const int64_t> rests);
  static constexpr int64_t nothing_left = INT64_MAX;
  // Of the bytes before this offset, everything has come.
  int64_t complete_before() const { return complete_before_; }
  // What came: runs of the file's bytes by offset, and the bytes of each message.
  std::span<const Received> received() const { return received_; }
  std::span<const std::byte* const> messages() const { return messages_; }
  // Tells each sender whether this node took what it sent, and calls settle() with each other
  // node's answer.
  void answer(bool taken, const Settle& settle);

 private:
  struct Partners {
    uint32_t to, from;
  };
  Partners partners(uint32_t step) const;
  bool keep(uint32_t from, int64_t runs);

  Channel& channel_;
  const uint32_t self_;
  std::vector<uint8_t> sent_;                  // whether this node's list for a node was sent
  std::vector<uint8_t> came_;                  // whether a node's list came, or was empty
  std::vector<std::vector<std::byte>> lists_;  // that came, by node
  std::vector<const std::byte*> messages_;     // their bytes
  std::vector<Received> received_;
  int64_t complete_before_ = nothing_left;
};

}  // namespace forebay
