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

template <typename Driver>
bool CacheHandle<Driver>::lacks_room_for_guests() {
  const uint32_t frames = cache_.frames();
  const uint32_t dirty = cache_.dirty_frames();
  if (dirty < frames - frames / 4) {
    next_guests_look_ = 0;
    return false;
  }
  if (dirty < next_guests_look_) return false;
  next_guests_look_ = dirty + frames_between_looks(frames);
  return cache_.partial_pages(file_).pages > frames / 4;
}

// The owner unites them with what its own ranks wrote to the same pages.
template <typename Driver>
template <typename Send>
Status CacheHandle<Driver>::give_guests(const FileDomains& domains, uint32_t self,
                                        const Send& send) {
  // An owner may need frames of this node for what it gives itself: two full nodes must not wait
  // for each other.
  constexpr uint32_t share = 2;
  const Status ignored = within_memory([&]() -> Status {
    typename Cache<Driver>::Guests guests(cache_, domains.owners());
    for (bool more = true; more;) {
      more = false;
      Status status = guests.claim(file_, domains, self, share);
      for (uint32_t owner = 0; owner < domains.owners() && status.ok(); ++owner) {
        const IoPlan& plan = guests.plan(owner);
        if (plan.empty()) continue;
        more = true;
        status = send(owner, plan);
        if (status.ok()) statistics().guest_bytes += plan.bytes();
        guests.settle(owner, status.ok());
      }
      if (!status.ok()) return status;
    }
    return {};
  });
  (void)ignored;  // what no owner has taken goes to storage
  return commit_guests({0, INT64_MAX}, domains, self);
}

template <typename Driver>
Status CacheHandle<Driver>::commit_guests(Extent range, const FileDomains& domains, uint32_t self) {
  return within_memory([&] { return cache_.commit_guests(file_, range, domains, self); });
}

}  // namespace forebay
