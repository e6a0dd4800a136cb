// What the ranks of a handle on several nodes have in common beside the file's bytes: their shared
// file pointer (MPI 4.1, 14.4.4), and in atomic mode (14.6.1) the ranges that accesses hold. The
// agent on the node of the handle's first rank keeps it, from the first question about it on: most
// programs ask none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "extent/extent.h"

namespace forebay::agent {

// Positions of the pointer are in data bytes of the view, ranges in bytes of the file. The numbers
// are part of the protocol.
struct KeeperQuestion {
  enum class What : int64_t {
    load,     // answer: where the pointer is
    store,    // it is at `value` now
    advance,  // by `value`; answer: where it was
    // The ordered access number `turn` of the handle moves `value` bytes, of all ranks. The first
    // rank that asks advances the pointer. Answer to each: where it was. No rank asks for the next
    // turn before all have asked for this one.
    place,
    // The rank's access is to hold this range, to write if `value` is 1. Answer: 1, or 0 as long as
    // it must wait: the rank asks again. Ranks get ranges that meet in the order in which they have
    // asked first.
    lock,
    unlock,  // what the rank holds
    leave,   // the rank will not ask again
  };
  uint64_t handle = 0;  // its name, a number that no other handle has
  int64_t view = 0;     // how many views it has got: the first question about one finds 0
  int64_t what = 0;     // What
  int64_t value = 0;
  int64_t turn = 0;
  Extent range{0, 0};
};

// Any thread may use it.
class HandleKeeper {
 public:
  using Rank = const void*;  // who asks: its server

  // Empty: the question makes no sense.
  std::optional<int64_t> answer(const KeeperQuestion& question, Rank rank);
  // A rank's connection has ended: it holds nothing any more.
  void release_all(Rank rank);
  // Handles of which it keeps something.
  std::size_t count() const;

 private:
  struct Lock {
    Rank rank;
    Extent range;
    bool writes;
    bool held;  // otherwise it waits
  };
  struct Kept {
    int64_t view = 0;
    int64_t position = 0;
    int64_t turns = 0;  // ordered accesses that are placed
    int64_t ordered_base = 0;
    std::list<Lock> locks;  // in the order in which they were asked for
    std::set<Rank> ranks;   // that have asked, and not left
  };
  static std::optional<int64_t> place(Kept& kept, const KeeperQuestion& question);
  static std::optional<int64_t> lock(Kept& kept, const KeeperQuestion& question, Rank rank);
  static void unlock(Kept& kept, Rank rank);

  mutable std::mutex mutex_;
  std::map<uint64_t, Kept> handles_;
};

}  // namespace forebay::agent
