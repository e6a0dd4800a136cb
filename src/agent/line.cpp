#include "agent/line.h"

namespace forebay::agent {

Status Line::connect() {
  if (connection_.is_open()) return {};
  ++number_;
  return Connection::dial(agent_, &connection_);
}

std::shared_ptr<Line> Lines::to(const Address& agent) {
  const std::lock_guard guard(mutex_);
  std::erase_if(lines_, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<Line>& known = lines_[agent.key];
  std::shared_ptr<Line> line = known.lock();
  if (line == nullptr) known = line = std::make_shared<Line>(agent);
  return line;
}

Lines& Lines::of_process() {
  static Lines* const lines = new Lines;  // files may be left open to the end of the process
  return *lines;
}

}  // namespace forebay::agent
