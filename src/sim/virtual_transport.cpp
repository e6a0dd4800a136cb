#include "sim/virtual_transport.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace forebay::sim {

struct VirtualTransport::OnItsWay final : Send::Progress {
  OnItsWay(Send& owner, uint32_t node, Arrived copy)
      : send(owner), to(node), message(std::move(copy)) {}
  Send& send;
  const uint32_t to;
  Arrived message;
  Fibers::Event ended;
};

VirtualTransport::VirtualTransport(Fibers& fibers, uint32_t nodes, int64_t most_ns, uint64_t seed)
    : fibers_(fibers), most_ns_(most_ns), random_(seed), mailboxes_(nodes) {
  for (uint32_t node = 0; node < nodes; ++node) nodes_.emplace_back(*this, node, nodes);
}

void VirtualTransport::kill(uint32_t node) {
  mailboxes_.kill(node);
  for (Node& other : nodes_) fibers_.wake(other.receivers);
}

void VirtualTransport::arrive(OnItsWay& message) {
  message.send.end(mailboxes_.put(message.to, std::move(message.message)));
  fibers_.wake(nodes_[message.to].receivers);
  fibers_.happen(message.ended);
}

void VirtualTransport::NodeChannel::start(Send& send, uint32_t to, const Message& message) {
  auto on_its_way = std::make_unique<OnItsWay>(send, to, Mailboxes::copy_of(node_, message));
  int64_t& latest_ns = transport_.nodes_[node_].latest_ns[to];
  const int64_t now_ns = transport_.fibers_.now_ns();
  latest_ns = std::max(latest_ns + 1, now_ns + 1 + transport_.random_.below(transport_.most_ns_));
  transport_.fibers_.schedule(
      transport_.fibers_.group(), latest_ns - now_ns,
      [&transport = transport_, &kept = *on_its_way] { transport.arrive(kept); });
  send.keep(std::move(on_its_way));
}

void VirtualTransport::NodeChannel::finish(Send& send) {
  transport_.fibers_.wait(static_cast<OnItsWay*>(send.progress())->ended);
}

Arrival VirtualTransport::NodeChannel::poll(uint32_t from, Arrived* arrived) {
  transport_.fibers_.step();
  return transport_.mailboxes_.take(node_, from, arrived);
}

Status VirtualTransport::NodeChannel::receive(uint32_t from, Arrived* arrived) {
  for (;;) {
    switch (poll(from, arrived)) {
      case Arrival::message:
        return {};
      case Arrival::lost:
        return {Code::node_lost, 0, -1};
      case Arrival::nothing:
        transport_.fibers_.wait(transport_.nodes_[node_].receivers);
    }
  }
}

}  // namespace forebay::sim
