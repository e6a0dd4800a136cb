#include "agent/owners_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/file_terms.h"
#include "agent/line.h"

namespace forebay::agent {
namespace {

// Whether too few of the bytes that came from owners have been in their caches.
bool holds_little(int64_t moved_bytes, int64_t held_bytes) {
  constexpr int64_t enough_to_judge = 1 << 20;
  return moved_bytes >= enough_to_judge && 2 * held_bytes < moved_bytes;
}

// Of a longer read storage is asked for the rest: an answer lies in this process's memory.
constexpr int64_t most_question_bytes = 16 << 20;

// The memory of `part` of a request, as segments.
std::vector<Segment> segments_of(const Request& request, Extent part) {
  std::vector<Segment> found;
  int64_t at = request.offset;
  for (const Segment& segment : request.segments) {
    const Extent shared = intersect({at, segment.length}, part);
    if (!shared.empty()) found.push_back({segment.memory + (shared.offset - at), shared.length});
    at += segment.length;
  }
  return found;
}

}  // namespace

// Bytes of one request that one owner has, or that storage is asked for.
struct OwnersSource::Piece {
  std::size_t request;
  Extent extent;
  std::vector<Segment> memory;
  uint32_t asked;  // an owner; none: storage
  int64_t moved = 0;
};

OwnersSource::OwnersSource(runtime::CachedFile& here, const Owners& owners, uint32_t self,
                           std::shared_ptr<const FileTerms> terms, bool kept)
    : here_(here),
      self_(self),
      kept_(kept),
      domains_(owners.domains),
      owners_(owners.agents.size()) {
  for (uint32_t owner = 0; owner < owners_.size(); ++owner) {
    if (owner == self) continue;
    const auto line = std::make_shared<Line>(owners.agents[owner]);
    owners_[owner].file = std::make_unique<RemoteFile>(line, terms);
  }
}

void OwnersSource::change(const FileDomains& domains,
                          const std::shared_ptr<const FileTerms>& terms) {
  const std::lock_guard guard(mutex_);
  domains_ = domains;
  for (Owner& owner : owners_) {
    if (owner.file != nullptr) owner.file->use(terms);
  }
}

void OwnersSource::close(Owner& owner) {
  if (owner.file->is_open() && owner.file->begin(Ask::close).ok()) (void)owner.file->end();
  counted_.add(owner.file->statistics());
  owner.file.reset();
}

void OwnersSource::leave() {
  const std::lock_guard guard(mutex_);
  for (Owner& owner : owners_) {
    if (owner.file != nullptr) close(owner);
  }
}

Statistics OwnersSource::statistics() const {
  const std::lock_guard guard(mutex_);
  return counted_;
}

// Carries out the whole transfer: asks the owners, reads the rest from storage, and takes the
// answers.
void OwnersSource::start(Transfer& transfer) {
  const bool first = !begun_.exchange(true);
  if (first && !kept_) return read_storage(transfer);
  std::unique_lock lock(mutex_, std::defer_lock);
  if (kept_) lock.lock();
  if (!asks_.load() || (!lock.owns_lock() && !lock.try_lock())) return read_storage(transfer);
  std::vector<Piece> pieces;
  for (std::size_t r = 0; r < transfer.requests().size(); ++r) {
    const Request& request = transfer.requests()[r];
    const Extent whole{request.offset, length_of(request)};
    for (int64_t at = whole.offset; at < whole.end();) {
      const int64_t end = std::min(domains_.same_owner_at(at).end(), whole.end());
      const uint32_t owner = domains_.owner_of(at);
      const bool asks = owner != self_ && owners_[owner].file != nullptr && !here_.writable();
      const Extent extent{at, end - at};
      pieces.push_back({r, extent, segments_of(request, extent), asks ? owner : Owners::none});
      at = end;
    }
  }
  ask(pieces);
  StorageCounters counters;
  Status status = read_storage(pieces, counters);
  take_answers(pieces);
  // What an owner did not answer.
  if (status.ok()) status = read_storage(pieces, counters);
  spared_requests_ += std::ssize(transfer.requests()) - counters.requests;
  transfer.outcome(0).syscalls = counters.syscalls;
  for (const Piece& piece : pieces) {
    Transfer::Outcome& outcome = transfer.outcome(piece.request);
    if (!status.ok()) outcome.status = status;
    // A piece behind the end of file adds nothing.
    if (outcome.transferred == piece.extent.offset - transfer.requests()[piece.request].offset)
      outcome.transferred += piece.moved;
  }
}

void OwnersSource::ask(std::vector<Piece>& pieces) {
  std::vector<Extent> extents;
  for (uint32_t number = 0; number < owners_.size(); ++number) {
    Owner& owner = owners_[number];
    extents.clear();
    int64_t bytes = 0;
    for (Piece& piece : pieces) {
      if (piece.asked != number) continue;
      bytes += piece.extent.length;
      if (bytes <= most_question_bytes)
        extents.push_back(piece.extent);
      else
        piece.asked = Owners::none;
    }
    if (extents.empty()) continue;
    owner.begun = owner.file->begin_read(extents, Ask::read_held).ok();
    if (owner.begun) continue;
    for (Piece& piece : pieces) {
      if (piece.asked == number) piece.asked = Owners::none;
    }
    owner.file.reset();
  }
}

void OwnersSource::take_answers(std::vector<Piece>& pieces) {
  for (uint32_t number = 0; number < owners_.size(); ++number) {
    Owner& owner = owners_[number];
    if (!std::exchange(owner.begun, false)) continue;
    int64_t moved = 0;
    const bool answered = owner.file->end(&moved).ok() && std::ssize(owner.file->answer()) == moved;
    const std::byte* from = owner.file->answer().data();
    for (Piece& piece : pieces) {
      if (piece.asked != number) continue;
      if (!answered) {
        piece.asked = Owners::none;
        continue;
      }
      piece.moved = std::min(piece.extent.length, moved);
      moved -= piece.moved;
      owner.moved_bytes += piece.moved;
      bytes_ += piece.moved;
      int64_t left = piece.moved;
      for (const Segment& segment : piece.memory) {
        if (left == 0) break;  // the answer may have no bytes at all
        const auto count = std::min(segment.length, left);
        std::memcpy(segment.memory, from, static_cast<std::size_t>(count));
        from += count;
        left -= count;
      }
    }
    ++questions_;
    owner.held_bytes += owner.file->held_bytes();
    held_bytes_ += owner.file->held_bytes();
    owner.file->release_memory();
    if (!answered) owner.file.reset();
    if (answered && kept_ && holds_little(owner.moved_bytes, owner.held_bytes)) close(owner);
  }
  if (!kept_ && holds_little(bytes_, held_bytes_)) {
    asks_.store(false);
    for (Owner& owner : owners_) {
      if (owner.file != nullptr) close(owner);
    }
  }
}

void OwnersSource::read_storage(Transfer& transfer) const {
  std::vector<int64_t> moved(transfer.requests().size());
  StorageCounters counters;
  const Status status = here_.storage().read(transfer.requests(), moved, counters);
  for (std::size_t r = 0; r < moved.size(); ++r) {
    transfer.outcome(r).status = status;
    transfer.outcome(r).transferred = moved[r];
  }
  transfer.outcome(0).syscalls = counters.syscalls;
}

// Reads the pieces that no owner is asked for, and that nobody has read.
Status OwnersSource::read_storage(std::vector<Piece>& pieces, StorageCounters& counters) {
  std::vector<Request> requests;
  std::vector<Piece*> read;
  for (Piece& piece : pieces) {
    if (piece.asked != Owners::none || piece.moved > 0) continue;
    requests.push_back({piece.extent.offset, piece.memory});
    read.push_back(&piece);
  }
  if (requests.empty()) return {};
  std::vector<int64_t> moved(requests.size());
  const Status status = here_.storage().read(requests, moved, counters);
  for (std::size_t i = 0; i < read.size(); ++i) read[i]->moved = moved[i];
  return status;
}

}  // namespace forebay::agent
