#include "simulated/faulty_storage.h"

#include <algorithm>
#include <cerrno>
#include <memory>

namespace forebay::test {

using sim::Fibers;

struct FaultyStorage::UnderWay final : Transfer::Progress {
  explicit UnderWay(Transfer& whole)
      : transfer(whole), places(whole.requests().size()), requests_left(places.size()) {}
  struct Place {
    std::size_t segment = 0;
    int64_t in_segment = 0;
  };
  Transfer& transfer;
  Fibers::Group process = Fibers::current()->group();
  std::vector<Place> places;  // how far each request has come
  std::size_t requests_left;
  Fibers::Event ended;
};

Status FaultyStorage::size(int64_t* bytes) {
  fibers_.step();
  *bytes = std::ssize(bytes_);
  return {};
}

void FaultyStorage::start(Transfer& transfer) {
  auto under_way = std::make_unique<UnderWay>(transfer);
  if (under_way->requests_left == 0) fibers_.happen(under_way->ended);
  for (std::size_t request = 0; request < transfer.requests().size(); ++request)
    begin_piece(*under_way, request);
  transfer.keep(std::move(under_way));
}

void FaultyStorage::finish(Transfer& transfer) {
  fibers_.wait(static_cast<UnderWay*>(transfer.progress())->ended);
}

void FaultyStorage::begin_piece(UnderWay& under_way, std::size_t request) {
  const std::span<const Segment> segments = under_way.transfer.requests()[request].segments;
  UnderWay::Place& place = under_way.places[request];
  while (place.segment < segments.size() && place.in_segment == segments[place.segment].length)
    place = {place.segment + 1, 0};
  if (place.segment == segments.size()) {
    if (--under_way.requests_left == 0) fibers_.happen(under_way.ended);
    return;
  }
  const Segment& segment = segments[place.segment];
  int64_t length = segment.length - place.in_segment;
  const int64_t ns = 1 + random_.below(random_.one_in(4) ? 2'000'000 : 100'000);
  if (random_.one_in(3)) length = 1 + random_.below(length);
  const std::span memory(segment.memory + place.in_segment, static_cast<std::size_t>(length));
  fibers_.schedule(under_way.process, ns,
                   [this, &under_way, request, memory] { end_piece(under_way, request, memory); });
}

void FaultyStorage::end_piece(UnderWay& under_way, std::size_t request,
                              std::span<std::byte> memory) {
  Transfer& transfer = under_way.transfer;
  Transfer::Outcome& outcome = transfer.outcome(request);
  UnderWay::Place& place = under_way.places[request];
  const int64_t offset = transfer.requests()[request].offset + outcome.transferred;
  const bool writes = transfer.direction() == Transfer::Direction::write;
  int64_t moved = 0;
  if (fails())
    outcome.status = {writes && random_.one_in(2) ? Code::no_space : Code::io, EIO, offset};
  else
    moved = move(transfer.direction(), offset, memory);
  outcome.transferred += moved;
  place.in_segment += moved;
  if (moved < std::ssize(memory))  // it has failed, or the file ends
    place = {transfer.requests()[request].segments.size(), 0};
  begin_piece(under_way, request);
}

// Returns how many bytes there were to move.
int64_t FaultyStorage::move(Transfer::Direction direction, int64_t offset,
                            std::span<std::byte> memory) {
  const auto at = static_cast<std::size_t>(offset);
  if (direction == Transfer::Direction::write) {
    stored_(offset, memory);
    bytes_.resize(std::max(bytes_.size(), at + memory.size()));
    std::ranges::copy(memory, bytes_.begin() + offset);
    return std::ssize(memory);
  }
  if (at >= bytes_.size()) return 0;
  const std::size_t held = std::min(memory.size(), bytes_.size() - at);
  std::copy_n(bytes_.begin() + offset, held, memory.begin());
  return static_cast<int64_t>(held);
}

// Some time or other it has failed often enough: many small requests would never all succeed.
bool FaultyStorage::fails() {
  if (fails_one_in_ == 0 || failures_left_ == 0 || !random_.one_in(fails_one_in_)) return false;
  --failures_left_;
  return true;
}

}  // namespace forebay::test
