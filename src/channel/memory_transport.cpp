#include "channel/memory_transport.h"

#include <utility>

namespace forebay {

MemoryTransport::MemoryTransport(uint32_t nodes) : mailboxes_(nodes) {
  for (uint32_t node = 0; node < nodes; ++node) channels_.emplace_back(*this, node);
}

void MemoryTransport::kill(uint32_t node) {
  const std::lock_guard lock(mutex_);
  mailboxes_.kill(node);
  changed_.notify_all();
}

void MemoryTransport::NodeChannel::start(Send& send, uint32_t to, const Message& message) {
  Arrived copy = Mailboxes::copy_of(node_, message);
  const std::lock_guard lock(transport_.mutex_);
  send.end(transport_.mailboxes_.put(to, std::move(copy)));
  transport_.changed_.notify_all();
}

Arrival MemoryTransport::NodeChannel::poll(uint32_t from, Arrived* arrived) {
  const std::lock_guard lock(transport_.mutex_);
  return transport_.mailboxes_.take(node_, from, arrived);
}

Status MemoryTransport::NodeChannel::receive(uint32_t from, Arrived* arrived) {
  std::unique_lock lock(transport_.mutex_);
  for (;;) {
    switch (transport_.mailboxes_.take(node_, from, arrived)) {
      case Arrival::message:
        return {};
      case Arrival::lost:
        return {Code::node_lost, 0, -1};
      case Arrival::nothing:
        transport_.changed_.wait(lock);
    }
  }
}

}  // namespace forebay
