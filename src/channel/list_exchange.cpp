#include "channel/list_exchange.h"

#include <cstring>

namespace forebay {
namespace {

enum Kind : uint32_t { gathered, offer, grant, list, answered };

// What a node says of a list before it sends it.
struct Offer {
  int64_t runs = 0;
  int64_t bytes = 0;
  int64_t more = 0;  // 1: the node will have another list
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

Offer offer_of(std::span<const Request> requests, bool more) {
  Offer offer{std::ssize(requests), 0, int64_t{more}};
  for (const Request& request : requests) offer.bytes += length_of(request);
  return offer;
}

// A list as bytes: the runs, then their bytes.
void pack(std::span<const Request> requests, std::vector<std::byte>& packed) {
  packed.resize(static_cast<std::size_t>(bytes_of(offer_of(requests, false))));
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

bool accept_all(const Offer& offer, std::span<const std::byte> packed,
                const ListExchange::Accept& accept) {
  if (std::ssize(packed) != bytes_of(offer)) return false;
  const std::byte* bytes = packed.data() + sizeof(Extent) * static_cast<std::size_t>(offer.runs);
  for (int64_t run = 0; run < offer.runs; ++run) {
    Extent extent;
    std::memcpy(&extent, packed.data() + sizeof extent * static_cast<std::size_t>(run),
                sizeof extent);
    if (!accept(extent, bytes).ok()) return false;
    bytes += extent.length;
  }
  return true;
}

}  // namespace

ListExchange::ListExchange(Channel& channel, uint32_t self, uint32_t count)
    : channel_(channel), self_(self), sent_(count), taken_(count) {}

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

bool ListExchange::exchange(std::span<const std::span<const Request>> lists, bool more,
                            const Accept& accept) {
  bool any_more = more;
  std::vector<std::byte> out;
  for (uint32_t step = 1; step < count(); ++step) {
    const auto [to, from] = partners(step);
    out.clear();
    const Status packed = within_memory([&] {
      if (!lists.empty()) pack(lists[to], out);
    });
    const bool offers = packed.ok() && !lists.empty();
    const Offer mine = offer_of(offers ? lists[to] : std::span<const Request>{}, more);
    Send offering, granting, sending;
    channel_.post(offering, to, message_of(offer, mine));
    Arrived arrived;
    Offer theirs;
    if (channel_.receive(from, &arrived).ok()) theirs = value_of<Offer>(arrived, offer);
    any_more = any_more || theirs.more != 0;
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
    if (takes) takes = channel_.receive(from, &arrived).ok() && arrived.kind == list;
    taken_[from] = theirs.runs == 0 || (takes && accept_all(theirs, arrived.bytes, accept));
    for (Send* send : {&offering, &granting, &sending}) {
      if (send->under_way()) static_cast<void>(channel_.complete(*send));
    }
    sent_[to] = packed.ok() && (mine.runs == 0 || granted);
  }
  return any_more;
}

void ListExchange::answer(const Settle& settle) {
  for (uint32_t step = 1; step < count(); ++step) {
    const auto [to, from] = partners(step);
    Send send;
    channel_.post(send, from, {answered, taken_[from], {}});
    Arrived arrived;
    const bool taken = channel_.receive(to, &arrived).ok() && arrived.kind == answered &&
                       arrived.header != 0;
    settle(to, taken && sent_[to] != 0);
    static_cast<void>(channel_.complete(send));
  }
}

}  // namespace forebay
