#include "channel/mailboxes.h"

#include <algorithm>
#include <utility>

namespace forebay {

Status Mailboxes::put(uint32_t to, Arrived arrived) {
  if (dead(to) || dead(arrived.from)) return {Code::node_lost, 0, -1};
  boxes_[to].messages.push_back(std::move(arrived));
  return {};
}

Arrival Mailboxes::take(uint32_t node, uint32_t from, Arrived* arrived) {
  Box& box = boxes_[node];
  const auto lost = [arrived](uint32_t which) {
    *arrived = {which, 0, 0, {}};
    return Arrival::lost;
  };
  if (box.dead) return lost(node);
  const auto next = std::ranges::find_if(box.messages, [from](const Arrived& message) {
    return from == any_node || message.from == from;
  });
  if (next != box.messages.end()) {
    *arrived = std::move(*next);
    box.messages.erase(next);
    return Arrival::message;
  }
  if (from != any_node) return dead(from) ? lost(from) : Arrival::nothing;
  if (!box.deaths.empty()) {
    const uint32_t which = box.deaths.front();
    box.deaths.pop_front();
    return lost(which);
  }
  return alone(node) ? lost(box.last_death) : Arrival::nothing;
}

void Mailboxes::kill(uint32_t node) {
  if (dead(node)) return;
  for (uint32_t other = 0; other < boxes_.size(); ++other) {
    if (other == node) continue;
    boxes_[other].deaths.push_back(node);
    boxes_[other].last_death = node;
  }
  boxes_[node].dead = true;
  boxes_[node].messages.clear();
}

// Whether there were other nodes, and all of them are dead.
bool Mailboxes::alone(uint32_t node) const {
  for (uint32_t other = 0; other < boxes_.size(); ++other) {
    if (other != node && !dead(other)) return false;
  }
  return boxes_.size() > 1;
}

}  // namespace forebay
