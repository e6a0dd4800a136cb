// The extent locks of one object, as a Lustre server grants them to its clients.
//
// A lock is granted wider than it was asked for: up to the locks and requests of other clients that
// it would conflict with. So a client that is alone asks once for a whole object. A request that
// conflicts with a lock waits until that lock, which the server calls back, has been returned.
// Requests that conflict with each other are granted in their order. Where a write lock meets more
// than `crowd` others, it grows by no more than `most_growth`, so that clients that write forwards
// do not take each other's next bytes again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "extent/extent.h"
#include "sim/cluster/extent_index.h"

namespace forebay::sim {

class ExtentLocks {
 public:
  using Number = uint64_t;  // of a lock, given by its asker; unique in the object
  static constexpr int64_t crowd = 32;
  static constexpr int64_t most_growth = 32 << 20;

  struct Lock {
    Number number = 0;
    uint32_t client = 0;
    bool writes = false;
    Extent extent;
  };
  struct CalledBack {
    Lock lock;
    uint32_t for_client;  // who waits for it
  };
  // What the server tells its clients.
  struct Outcome {
    std::vector<Lock> granted;
    std::vector<CalledBack> called_back;
  };

  void ask(const Lock& lock, Outcome& outcome);
  // A client has returned a lock.
  void give_back(Number number, Outcome& outcome);

  std::size_t held() const { return held_.size(); }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Held {
    Lock lock;
    bool called_back = false;
  };
  struct Counts {
    int64_t reads = 0, writes = 0;
  };
  static bool conflict(const Lock& one, const Lock& other);
  // Grants the request, or calls back the locks in its way. False: it waits.
  bool settle(std::size_t request, Outcome& outcome);
  static void call_back(Held& held, const Lock& for_lock, Outcome& outcome);
  Extent grown(const Lock& asked) const;
  void count(const Lock& lock, int64_t more);

  ExtentIndex<Held> held_;
  std::unordered_map<Number, Extent> extents_;  // of those that are held
  Counts all_;
  std::unordered_map<uint32_t, Counts> of_client_;
  std::vector<Lock> waiting_;
};

}  // namespace forebay::sim
