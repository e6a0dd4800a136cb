// The hand-over of guests: a node writes into its own cache, whoever owns the bytes, and at calls that
// all nodes make together the bytes go to their owners, who hand them to storage merged (Coloma 2004:
// one owner for each byte; Settlemyer 7.4.2: what the standard's visibility allows to wait).
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
  // Also: bool exchange(plan_of, more, accept). Sends plan_of(node) to each other node, and calls
  // accept(extent, bytes) for each run of those that came, which returns a status. Returns whether
  // any node has `more`.
  //
  // Also: void answer(settle). Tells each sender whether this node took its list: all of its bytes are
  // in this node's cache or in storage, and this node answers for them. Calls settle(node, taken)
  // with the answer of each other node.
};

// Writes a part of a page, of another node's list. Waits for no frame, since this process holds
// frames under I/O itself (its guests): what finds no frame goes past the cache.
template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::accept_part(Extent part, Source source) {
  using Got = typename Cache<Driver>::Got;
  bool count = true;
  for (int evicted = 0; evicted < 2; ++evicted) {
    Got got = Got::none;
    const Status status =
        within_memory([&] { return write_page(part, source, 0, &count, &got); });
    if (got == Got::resident && status.ok()) return {};
    if (!status.ok() && status.code != Code::no_memory) return status;
    if (got != Got::leaving) break;
    const Status left = within_memory([&] { return cache_.evict(file_, evictions_); });
    evictions_.clear();
    if (!left.ok()) break;
  }
  evictions_.clear();
  return within_memory([&] { return write_past_now(part, source, nullptr); });
}

template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::accept(Extent extent, Source source) {
  statistics().accepted_bytes += extent.length;
  bypass_counted_ = true;  // not a call of the user's
  const int64_t page_size = cache_.page_size();
  for (int64_t at = 0; at < extent.length;) {
    const int64_t offset = extent.offset + at;
    const Extent part{offset, std::min(extent.length - at, page_size - offset % page_size)};
    const Status status = accept_part(part, source + at);
    if (!status.ok()) return status;
    at += part.length;
  }
  return {};
}

template <typename Driver>
template <typename Nodes>
Status CacheHandle<Driver>::hand_over(const FileDomains& domains, Nodes& nodes) {
  static_assert(HandOverNodes<Nodes>);
  Status result;
  const auto keep = [&result](const Status& status) {
    if (result.ok()) result = status;
  };
  const IoPlan nothing;
  std::optional<typename Cache<Driver>::Guests> guests;
  bool refused = false;
  for (bool more = true; more;) {
    bool mine = false;
    if (!refused) {
      keep(within_memory([&] {
        if (!guests) guests.emplace(cache_, nodes.count());
        return guests->claim(file_, domains, nodes.self(), &mine);
      }));
    }
    refused = refused || !result.ok();
    mine = mine && !refused;
    evictions_.hold_claims(true);
    const auto plan_of = [&](uint32_t node) -> const IoPlan& {
      return guests ? guests->plan(node) : nothing;
    };
    more = nodes.exchange(plan_of, mine,
                          [&](Extent extent, auto bytes) { return accept(extent, bytes); });
    evictions_.hold_claims(false);
    keep(within_memory([&] { return cache_.commit_domain(file_, domains, nodes.self()); }));
    nodes.answer([&](uint32_t node, bool taken) {
      if (!guests || plan_of(node).empty()) return;
      if (taken) statistics().guest_bytes += plan_of(node).bytes();
      guests->settle(node, taken);
      refused = refused || !taken;
    });
  }
  translation_ = {};
  // What no owner took, this node commits itself.
  const Status rest = within_memory([this] { return cache_.commit(file_, {0, INT64_MAX}); });
  return rest.ok() ? result : rest;
}

}  // namespace forebay
