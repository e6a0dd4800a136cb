// The hand-over of guests: a node writes into its own cache, whoever owns the bytes, and at calls
// that all nodes make together the bytes go to their owners, who hand them to storage merged
// (Coloma 2004: one owner for each byte; Settlemyer 7.4.2: what the standard's visibility allows to
// wait).
#pragma once

#include <algorithm>
#include <optional>

#include "engine/cache_handle.h"

namespace forebay {

// The nodes that hand over together, as one of them sees the others. All nodes make the same calls,
// in the same order.
template <typename N>
concept HandOverNodes = requires(N& nodes) {
  { nodes.count() } -> std::same_as<uint32_t>;
  { nodes.self() } -> std::same_as<uint32_t>;
  // Also: bool exchange(plan_of, rest_of). Sends plan_of(node) to each other node, and keeps what
  // came until answer(). rest_of(node): the first offset of what follows later, or INT64_MAX.
  // Returns whether anything follows.
  //
  // What came: the runs, and the messages in which their bytes are, as the driver's begin_write()
  // wants them.
  { nodes.received() } -> std::convertible_to<std::span<const Received>>;
  nodes.messages();
  // Of the bytes before this offset, everything has come.
  { nodes.complete_before() } -> std::same_as<int64_t>;
  // Also: void answer(taken, settle). Tells each sender whether this node has stored its bytes, and
  // calls settle(node, taken) with the answer of each other node.
};

template <typename Driver>
template <typename Nodes>
Status CacheHandle<Driver>::hand_over(const FileDomains& domains, Nodes& nodes) {
  static_assert(HandOverNodes<Nodes>);
  const IoPlan nothing;
  std::optional<typename Cache<Driver>::Guests> guests;
  bool refused = false;  // then this node hands nothing more over
  for (bool more = true; more;) {
    if (!refused) {
      const Status claimed = within_memory([&] {
        if (!guests) guests.emplace(cache_, nodes.count());
        return guests->claim(file_, domains, nodes.self());
      });
      refused = !claimed.ok();
    }
    const auto plan_of = [&](uint32_t node) -> const IoPlan& {
      return guests ? guests->plan(node) : nothing;
    };
    const auto rest_of = [&](uint32_t node) {
      return guests && !refused ? guests->rest(node) : INT64_MAX;
    };
    more = nodes.exchange(plan_of, rest_of);
    const Status stored = within_memory([&] {
      return cache_.commit_domain(file_, domains, nodes.self(), nodes.complete_before(),
                                  nodes.received(), nodes.messages());
    });
    if (stored.ok()) {
      for (const Received& run : nodes.received()) statistics().accepted_bytes += run.extent.length;
    }
    nodes.answer(stored.ok(), [&](uint32_t node, bool taken) {
      if (!guests || plan_of(node).empty()) return;
      if (taken) statistics().guest_bytes += plan_of(node).bytes();
      guests->settle(node, taken);
      refused = refused || !taken;
    });
  }
  // What is still dirty, this node commits itself.
  return within_memory([this] { return cache_.commit(file_, {0, INT64_MAX}); });
}

}  // namespace forebay
