// What nodes send each other: messages, and their sends under way. The bytes of a message mean what
// the protocol that uses the channel says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "extent/status.h"

namespace forebay {

class Channel;

struct Message {
  uint32_t kind = 0;
  uint64_t header = 0;  // a value that needs no bytes
  std::span<const std::byte> bytes;
};

// A message that has come, with bytes of its own.
struct Arrived {
  uint32_t from = 0;
  uint32_t kind = 0;
  uint64_t header = 0;
  std::vector<std::byte> bytes;
};

// A message on its way to another node: posted to a channel, and completed there. Thread rule: one
// thread at a time. A send that is destroyed is completed first.
class Send {
 public:
  // What a channel keeps of a send while it is under way.
  class Progress {
   public:
    virtual ~Progress() = default;
  };

  Send() = default;
  ~Send();
  Send(const Send&) = delete;
  Send& operator=(const Send&) = delete;
  bool under_way() const { return channel_ != nullptr; }

  // For channels:
  void keep(std::unique_ptr<Progress> progress) { progress_ = std::move(progress); }
  Progress* progress() const { return progress_.get(); }
  void end(const Status& status) { status_ = status; }

 private:
  friend class Channel;
  Channel* channel_ = nullptr;  // to which it was posted
  std::unique_ptr<Progress> progress_;
  Status status_;
};

}  // namespace forebay
