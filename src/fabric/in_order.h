// Messages of many senders, each sender's in the order in which it sent them. Large messages of a
// provider may be complete after later small ones, though they began to arrive before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace forebay::fabric {

class InOrder {
 public:
  static constexpr std::size_t most_senders = 64 << 10;
  static constexpr uint64_t most_ahead = 64;  // messages of a sender

  // Whether the message is its sender's next. If not, a copy waits until it is; one that came
  // before, or makes no sense, is dropped.
  bool is_next(uint64_t sender, uint64_t number, std::span<const std::byte> message) {
    if (!senders_.contains(sender) && senders_.size() >= most_senders) return false;
    Sender& known = senders_[sender];
    if (number == known.next) {
      ++known.next;
      latest_ = sender;
      return true;
    }
    if (number > known.next && number - known.next <= most_ahead)
      known.early.try_emplace(number, message.begin(), message.end());
    return false;
  }
  // One that has become the next by the latest that was.
  std::optional<std::vector<std::byte>> waiting() {
    const auto found = senders_.find(latest_);
    if (found == senders_.end()) return std::nullopt;
    Sender& known = found->second;
    const auto first = known.early.find(known.next);
    if (first == known.early.end()) return std::nullopt;
    ++known.next;
    std::vector<std::byte> message = std::move(first->second);
    known.early.erase(first);
    return message;
  }

 private:
  struct Sender {
    uint64_t next = 0;
    std::map<uint64_t, std::vector<std::byte>> early;  // by number
  };
  std::map<uint64_t, Sender> senders_;
  uint64_t latest_ = 0;
};

}  // namespace forebay::fabric
