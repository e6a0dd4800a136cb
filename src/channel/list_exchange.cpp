#include "channel/list_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace forebay {
namespace {

enum Kind : uint32_t { gathered, offer, grant, list, answered };

// What a node says of a list before it sends it.
struct Offer {
  int64_t runs = 0;
  int64_t bytes = 0;
  int64_t more = 0;                           // 1: the node will have more for some node
  int64_t rest = ListExchange::nothing_left;  // the first offset of later lists for this one
};

int64_t bytes_of(const Offer& offer) {
  return offer.runs * static_cast<int64_t>(sizeof(Extent)) + offer.bytes;
}

template <typename Value>
Message message_of(uint32_t kind, const Value& value) {
  return {kind, 0, std::as_bytes(std::span(&value, 1))};
}

// The value of a message that came; Value{}: none came, or another.
template <typename Value>
Value value_of(const Arrived& arrived, uint32_t kind) {
  Value value{};
  if (arrived.kind == kind && arrived.bytes.size() == sizeof value)
    std::memcpy(&value, arrived.bytes.data(), sizeof value);
  return value;
}

Offer offer_of(std::span<const Request> requests, bool more, int64_t rest) {
  Offer offer{std::ssize(requests), 0, int64_t{more}, rest};
  for (const Request& request : requests) offer.bytes += length_of(request);
  return offer;
}

// A list as bytes: the runs, then their bytes.
void pack(std::span<const Request> requests, std::vector<std::byte>& packed) {
  packed.resize(static_cast<std::size_t>(bytes_of(offer_of(requests, false, 0))));
  std::byte* at = packed.data();
  const auto append = [&at](const void* from, std::size_t count) {
    std::memcpy(at, from, count);
    at += count;
  };
  for (const Request& request : requests) {
    const Extent run{request.offset, length_of(request)};
    append(&run, sizeof run);
  }
  for (const Request& request : requests) {
    for (const Segment& segment : request.segments)
      append(segment.memory, static_cast<std::size_t>(segment.length));
  }
}

}  // namespace

ListExchange::ListExchange(Channel& channel, uint32_t self, uint32_t count)
    : channel_(channel), self_(self), sent_(count), came_(count), lists_(count), messages_(count) {}

ListExchange::Partners ListExchange::partners(uint32_t step) const {
  return {(self_ + step) % count(), (self_ + count() - step) % count()};
}

void ListExchange::gather(const Facts& mine, const std::function<void(const Facts&)>& tell) {
  for (uint32_t step = 1; step < count(); ++step) {
    const auto [to, from] = partners(step);
    Send send;
    channel_.post(send, to, message_of(gathered, mine));
    Arrived arrived;
    if (channel_.receive(from, &arrived).ok()) tell(value_of<Facts>(arrived, gathered));
    static_cast<void>(channel_.complete(send));
  }
}

// Adds the runs of the list that came. False: they could not be kept.
bool ListExchange::keep(uint32_t from, int64_t runs) {
  const std::vector<std::byte>& packed = lists_[from];
  const std::byte* at = packed.data();
  messages_[from] = at;
  int64_t place = runs * static_cast<int64_t>(sizeof(Extent));  // of a run's bytes
  const std::size_t before = received_.size();
  const Status kept = within_memory([&] {
    for (int64_t run = 0; run < runs; ++run, at += sizeof(Extent)) {
      Extent extent;
      std::memcpy(&extent, at, sizeof extent);
      received_.push_back({extent, from, place});
      place += extent.length;
    }
  });
  const bool whole = kept.ok() && place == std::ssize(packed);
  if (!whole) received_.resize(before);
  return whole;
}

bool ListExchange::exchange(std::span<const std::span<const Request>> lists,
                            std::span<const int64_t> rests) {
  const bool more = std::ranges::any_of(rests, [](int64_t rest) { return rest != nothing_left; });
  bool any_more = more;
  received_.clear();
  complete_before_ = nothing_left;
  std::vector<std::byte> out;
  for (uint32_t step = 1; step < count(); ++step) {
    const auto [to, from] = partners(step);
    out.clear();
    const std::span<const Request> wanted = lists.empty() ? std::span<const Request>{} : lists[to];
    const Status packed = within_memory([&] { pack(wanted, out); });
    const Offer mine = offer_of(packed.ok() ? wanted : std::span<const Request>{}, more, rests[to]);
    Send offering, granting, sending;
    channel_.post(offering, to, message_of(offer, mine));
    Arrived arrived;
    Offer theirs;
    if (channel_.receive(from, &arrived).ok()) theirs = value_of<Offer>(arrived, offer);
    any_more = any_more || theirs.more != 0;
    complete_before_ = std::min(complete_before_, theirs.rest);
    came_[from] = theirs.runs == 0;
    bool takes = false;
    if (theirs.runs != 0) {
      takes = within_memory([&] {
                arrived.bytes.reserve(static_cast<std::size_t>(bytes_of(theirs)));
              }).ok();
      channel_.post(granting, from, {grant, takes ? uint64_t{1} : 0, {}});
    }
    bool granted = false;
    if (mine.runs != 0) {
      Arrived answer;
      granted = channel_.receive(to, &answer).ok() && answer.kind == grant && answer.header == 1;
    }
    if (granted) channel_.post(sending, to, {list, 0, out});
    if (takes && channel_.receive(from, &arrived).ok() && arrived.kind == list) {
      lists_[from] = std::move(arrived.bytes);
      came_[from] = keep(from, theirs.runs);
    }
    for (Send* send : {&offering, &granting, &sending}) {
      if (send->under_way()) static_cast<void>(channel_.complete(*send));
    }
    sent_[to] = packed.ok() && (mine.runs == 0 || granted);
  }
  std::ranges::sort(received_, {}, [](const Received& run) { return run.extent.offset; });
  return any_more;
}

void ListExchange::answer(bool taken, const Settle& settle) {
  for (uint32_t step = 1; step < count(); ++step) {
    const auto [to, from] = partners(step);
    Send send;
    channel_.post(send, from, {answered, came_[from] != 0 && taken ? uint64_t{1} : 0, {}});
    Arrived arrived;
    const bool stored =
        channel_.receive(to, &arrived).ok() && arrived.kind == answered && arrived.header != 0;
    settle(to, stored && sent_[to] != 0);
    static_cast<void>(channel_.complete(send));
  }
  received_.clear();
  for (auto& list : lists_) list = {};
}

}  // namespace forebay
