// An access to a file whose bytes have owners, nodes, is carried out in windows, which bound its
// memory: all owners of a window are asked at once, each for its part. Long runs go past all
// caches, by themselves.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "domain/file_domains.h"
#include "engine/access.h"
#include "extent/extent.h"
#include "extent/status.h"

namespace forebay {

inline constexpr int64_t most_window_bytes = 4 << 20;

// Of a collective access, in which so many ranks ask each owner. Ranks that write the same pages
// are at most a window or two apart, since they answer each other: what all of them move meanwhile
// must have room in the owners' caches (pace.h).
inline int64_t collective_window_bytes(int64_t pace_bytes, int64_t ranks_an_owner,
                                       int64_t page_size) {
  const int64_t room = pace_bytes / (2 * std::max<int64_t>(ranks_an_owner, 1));
  return std::min(std::max(room, page_size), most_window_bytes);
}

// The place of an owner among those that a node asks at once, by number. Nodes begin with different
// owners, so that these are not all asked by everybody in the same order. `self`: the node's own
// number, or any other.
inline uint32_t place_among_asked(uint32_t owner, uint32_t self, uint32_t owners) {
  return (owner + owners - self % owners) % owners;
}

// How a window's owner is found, and a window carried out.
template <typename File>
concept OwnedFile = requires(File& file, const Extent& run, int64_t offset, int64_t* moved) {
  // *moved: how many bytes at the beginning of the run go past all caches by themselves.
  { file.find_long(run, moved) } -> std::same_as<Status>;
  // Before whom_to_ask() is called for the run's first byte.
  { file.find_owner(run) } -> std::same_as<Status>;
  { file.whom_to_ask(offset) } -> std::same_as<uint32_t>;
  { file.same_owner_at(offset) } -> std::same_as<Extent>;  // the bytes around that have the same
  // The window, or a long run. `offset`: how many bytes of the access come before; *moved: how many
  // it moved, fewer than it has where the file ends.
  { file.move_window(offset, moved) } -> std::same_as<Status>;
  { file.move_long(run, offset, moved) } -> std::same_as<Status>;
};

// The bytes at the beginning of the run that `is_own` tells of each chunk.
template <typename IsOwn>
int64_t own_bytes_of(const Extent& run, const FileDomains& domains, IsOwn is_own) {
  int64_t at = run.offset;
  while (at < run.end() && is_own(at)) at = domains.same_owner_at(at).end();
  return std::min(at, run.end()) - run.offset;
}

class OwnerWindow {
 public:
  // Contiguous bytes of the file, of one owner.
  struct Piece {
    uint32_t asked;
    Extent extent;
  };
  struct Part {
    std::vector<Extent> extents;  // ascending, not touching
    int64_t bytes = 0;
  };

  // `numbers`: of those that may be asked.
  explicit OwnerWindow(std::size_t numbers) : parts_(numbers) {}

  // Carries out an access in windows of at most so many bytes.
  template <OwnedFile File>
  Status carry_out(File& file, const Access& access, int64_t window_bytes, int64_t* moved) {
    *moved = 0;
    AccessRuns runs(access);
    Left left;
    while (*moved < access.bytes) {
      Status status = look(file, runs, left);
      const bool past = left.long_bytes > 0;
      const Extent run{left.run.offset, std::max<int64_t>(left.long_bytes, 0)};
      if (past)
        left.take(run.length);
      else if (status.ok())
        status = fill(file, runs, left, window_bytes);
      if (!status.ok()) return status;
      int64_t done = 0;
      status = past ? file.move_long(run, *moved, &done) : file.move_window(*moved, &done);
      *moved += done;
      if (!status.ok() || done < (past ? run.length : bytes_)) return status;
    }
    return {};
  }
  // Finds anew who is asked for the window's pieces.
  template <OwnedFile File>
  void divide(const File& file) {
    for (Piece& piece : pieces_) piece.asked = file.whom_to_ask(piece.extent.offset);
    divide();
  }

  // After an access, of which a large one needs much.
  void release_memory() {
    for (Part& part : parts_) part = {};
    asked_ = std::vector<uint32_t>();
    pieces_ = std::vector<Piece>();
  }

  // The window under way.
  int64_t bytes() const { return bytes_; }
  const std::vector<Piece>& pieces() const { return pieces_; }  // in the order of the access
  std::vector<uint32_t>& asked() { return asked_; }             // each once
  const Part& part(uint32_t asked) const { return parts_[asked]; }

 private:
  static constexpr std::size_t most_pieces = 64 << 10;
  static constexpr int64_t not_looked_at = -1;

  // What an access has left of a run.
  struct Left {
    Extent run{0, 0};
    int64_t long_bytes = not_looked_at;  // at its beginning

    void take(int64_t bytes) {
      run = {run.offset + bytes, run.length - bytes};
      long_bytes = not_looked_at;
    }
  };

  template <typename File>
  Status look(File& file, AccessRuns& runs, Left& left) {
    if (left.run.empty()) left = {runs.next()};
    return left.long_bytes == not_looked_at ? file.find_long(left.run, &left.long_bytes) : Status();
  }
  template <typename File>
  Status fill(File& file, AccessRuns& runs, Left& left, int64_t window_bytes) {
    pieces_.clear();
    bytes_ = 0;
    while (bytes_ < window_bytes && pieces_.size() < most_pieces) {
      if (left.run.empty() && runs.done()) break;
      Status found = look(file, runs, left);
      if (found.ok() && left.long_bytes > 0) break;
      if (found.ok()) found = file.find_owner(left.run);
      if (!found.ok()) return found;
      Extent piece = left.run;
      piece.length = std::min(piece.length, file.same_owner_at(piece.offset).end() - piece.offset);
      piece.length = std::min(piece.length, window_bytes - bytes_);
      left.take(piece.length);
      bytes_ += piece.length;
      pieces_.push_back({file.whom_to_ask(piece.offset), piece});
    }
    divide();
    return {};
  }
  void divide() {
    for (const uint32_t asked : asked_) parts_[asked].bytes = 0;
    asked_.clear();
    for (const auto& [asked, extent] : pieces_) {
      Part& part = parts_[asked];
      if (part.bytes == 0) {
        part.extents.clear();
        asked_.push_back(asked);
      }
      if (part.bytes > 0 && part.extents.back().end() == extent.offset)
        part.extents.back().length += extent.length;
      else
        part.extents.push_back(extent);
      part.bytes += extent.length;
    }
  }

  std::vector<Part> parts_;  // by number
  std::vector<uint32_t> asked_;
  std::vector<Piece> pieces_;
  int64_t bytes_ = 0;
};

}  // namespace forebay
