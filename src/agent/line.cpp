#include "agent/line.h"

#include <algorithm>
#include <iterator>

namespace forebay::agent {

Status Line::connect() {
  if (connection_.is_open()) return {};
  ++number_;
  return Lines::of_process().dial(agent_, &connection_);
}

std::shared_ptr<Line> Lines::to(const Address& agent) {
  const std::lock_guard guard(mutex_);
  std::erase_if(lines_, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<Line>& known = lines_[agent.key];
  std::shared_ptr<Line> line = known.lock();
  if (line == nullptr) known = line = std::make_shared<Line>(agent);
  return line;
}

void Lines::know_own(const Address& own, void (*failed)()) {
  const std::lock_guard guard(mutex_);
  own_ = own;
  const auto none = std::ranges::find(own_.ips, Ip{});
  if (none != own_.ips.begin()) std::rotate(own_.ips.begin(), std::prev(none), none);
  failed_ = failed;
}

bool Lines::lead_through_own() {
  const std::lock_guard guard(mutex_);
  return own_.fabric.bytes > 0;
}

Status Lines::dial(const Address& agent, Connection* connection) {
  Address own;
  {
    const std::lock_guard guard(mutex_);
    own = own_;
  }
  if (own.key == agent.key && own.port > 0) return Connection::dial(own, connection);
  if (own.fabric.bytes == 0 || agent.fabric.bytes == 0) return Connection::dial(agent, connection);
  if (Connection::dial_through(own, agent, connection).ok()) return {};
  const Status dialled = Connection::dial(agent, connection);
  // An agent that nobody reaches is dead. Else the network is at fault, and does not cost each line
  // seconds.
  if (!dialled.ok()) return dialled;
  void (*failed)() = nullptr;
  {
    const std::lock_guard guard(mutex_);
    if (own_.fabric.bytes > 0) failed = failed_;
    own_.fabric = {};
  }
  if (failed != nullptr) failed();
  return {};
}

Lines& Lines::of_process() {
  static Lines* const lines = new Lines;  // files may be left open to the end of the process
  return *lines;
}

}  // namespace forebay::agent
