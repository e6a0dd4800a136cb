// The engine's plans as lists of bytes for other nodes, for a driver whose pages have bytes.
#pragma once

#include <deque>
#include <vector>

#include "channel/list_exchange.h"
#include "storage/plan_requests.h"

namespace forebay {

// The nodes of a hand-over (engine/hand_over.h). `Driver` has to_requests(plan, requests).
template <typename Driver>
class PlanExchange {
 public:
  PlanExchange(const Driver& driver, ListExchange& nodes)
      : driver_(driver), nodes_(nodes), rests_(nodes.count()) {}

  uint32_t count() const { return nodes_.count(); }
  uint32_t self() const { return nodes_.self(); }

  template <typename PlanOf, typename RestOf>
  bool exchange(const PlanOf& plan_of, const RestOf& rest_of) {
    const Status made = within_memory([&] {
      lists_.assign(count(), {});
      requests_.clear();
      for (uint32_t node = 0; node < count(); ++node) {
        driver_.to_requests(plan_of(node), requests_.emplace_back());
        lists_[node] = requests_.back().list();
      }
    });
    sends_ = made.ok();
    for (uint32_t node = 0; node < count(); ++node) rests_[node] = rest_of(node);
    return nodes_.exchange(sends_ ? lists_ : std::span<const std::span<const Request>>{}, rests_);
  }
  int64_t complete_before() const { return nodes_.complete_before(); }
  std::span<const Received> received() const { return nodes_.received(); }
  std::span<const std::byte* const> messages() const { return nodes_.messages(); }
  template <typename Settle>
  void answer(bool taken, const Settle& settle) {
    nodes_.answer(taken, [&](uint32_t node, bool stored) { settle(node, stored && sends_); });
  }

 private:
  const Driver& driver_;
  ListExchange& nodes_;
  std::vector<int64_t> rests_;
  std::vector<std::span<const Request>> lists_;
  std::deque<PlanRequests> requests_;
  bool sends_ = false;
};

}  // namespace forebay
