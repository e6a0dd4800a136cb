#include "channel/faulty_channel.h"

#include <algorithm>
#include <memory>

namespace forebay {

// A message, kept back or on its way below.
struct FaultyChannel::Late final : Send::Progress {
  Late(uint32_t node, const Message& kept) : to(node), message(kept) {}
  const uint32_t to;
  const Message message;
  Send below;
};

void FaultyChannel::start(Send& send, uint32_t to, const Message& message) {
  const std::lock_guard lock(mutex_);
  let_some_go();
  if (happens(faults_.drops_one_in)) return send.end({Code::network, 0, -1});
  auto late = std::make_unique<Late>(to, message);
  const bool delayed = happens(faults_.delays_one_in) ||
                       (!faults_.reorders_pairs &&
                        std::ranges::any_of(late_, [to](Late* other) { return other->to == to; }));
  if (delayed)
    late_.push_back(late.get());
  else
    below_.post(late->below, to, message);
  send.keep(std::move(late));
}

// The message goes now, after those that it must not overtake.
void FaultyChannel::finish(Send& send) {
  auto* const late = static_cast<Late*>(send.progress());
  if (late == nullptr) return;  // it was dropped
  {
    const std::lock_guard lock(mutex_);
    const auto end = std::ranges::find(late_, late);
    if (end != late_.end()) {
      for (auto at = late_.begin(); at != end;)
        at = (*at)->to == late->to && !faults_.reorders_pairs ? let_go(at) : std::next(at);
      let_go(end);
    }
  }
  send.end(below_.complete(late->below));
}

Arrival FaultyChannel::poll(uint32_t from, Arrived* arrived) {
  {
    const std::lock_guard lock(mutex_);
    let_some_go();
  }
  return below_.poll(from, arrived);
}

// All goes first: a node that waits keeps nobody waiting.
Status FaultyChannel::receive(uint32_t from, Arrived* arrived) {
  {
    const std::lock_guard lock(mutex_);
    while (!late_.empty()) let_some_go();
  }
  return below_.receive(from, arrived);
}

FaultyChannel::Place FaultyChannel::let_go(Place place) {
  Late& late = **place;
  below_.post(late.below, late.to, late.message);
  return late_.erase(place);
}

void FaultyChannel::let_some_go() {
  for (auto at = late_.begin(); at != late_.end();) {
    const bool may_go = faults_.reorders_pairs || std::none_of(late_.begin(), at, [&](Late* other) {
                          return other->to == (*at)->to;
                        });
    at = may_go && random_.one_in(2) ? let_go(at) : std::next(at);
  }
}

bool FaultyChannel::happens(int64_t one_in) { return one_in > 0 && random_.one_in(one_in); }

}  // namespace forebay
