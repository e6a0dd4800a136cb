// The collective calls of a log: the processes of a call wait for each other. Where the log's calls
// do not fit together (a process never comes, or two calls wait for each other), the earliest takes
// place without the missing ones, which then access by themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/pace.h"
#include "extent/extent.h"
#include "sim/access_log.h"
#include "sim/aggregation.h"
#include "sim/cluster/kernel.h"
#include "sim/cluster/owned_files.h"
#include "sim/cluster/process.h"
#include "sim/cluster/waits.h"

namespace forebay::sim {

// A call while it takes place.
struct CollectiveCall {
  // Of a process that has come: its access, and where it is in it.
  struct Part {
    uint32_t access = 0;  // the number in the log
    uint32_t node = 0;
    Extent region;       // from the first to the last byte of the access
    int64_t offset = 0;  // it has no bytes before that any more
    bool begun = false;
  };
  std::vector<Part> parts;
  bool closed = false;    // it takes place; who comes now makes an independent access
  bool released = false;  // those who have come go on
  bool united = false;    // it was carried out for all of them (TwoPhase)
  uint32_t last_node = 0;
  Picoseconds began = 0;                           // once closed
  Queue waiting;                                   // for the others to come
  Queue progress;                                  // for the others of their node (CallPace)
  std::shared_ptr<OwnedFiles::Exchange> exchange;  // where nodes own the file's bytes
};

class CollectiveCalls {
 public:
  // A process that has come to a call, of which it has the part with that number. Null: the call
  // has taken place without it.
  struct Came {
    std::shared_ptr<CollectiveCall> call;
    std::size_t part = 0;
    bool last = false;  // all others have come before, or do not come
  };

  // `used`: otherwise no access is part of a call. `window_ns`: as for requests_of(); negative:
  // only calls that the log marks. `message`: the time of a short one. What the references name
  // outlives this.
  CollectiveCalls(const AccessLog& log, bool used, int64_t window_ns, Picoseconds message,
                  std::span<const uint32_t> node_of_process, Waits& waits);

  // Whether the access with this number in the log is made together with others.
  bool unites(uint32_t access) const;
  // Called by the process whose access it is. The last one to come goes on at once, and the others
  // when it releases them.
  Came come(uint32_t access);
  void release(const Came& came);
  // To be called when nothing happens any more: the earliest call for which processes wait takes
  // place without the others. False: no process waits.
  bool go_without();

  // The time in which so many processes tell each other a little.
  Picoseconds agreement(std::size_t processes) const;
  int64_t without_some() const { return without_some_; }

 private:
  uint32_t node_of(uint32_t access) const;

  const AccessLog& log_;
  Picoseconds message_;
  std::span<const uint32_t> node_of_process_;
  Waits& waits_;
  Requests requests_;
  std::vector<uint32_t> request_of_;  // by access; empty: none is united
  std::unordered_map<uint32_t, std::shared_ptr<CollectiveCall>> calls_;  // by request
  int64_t without_some_ = 0;
};

// The pace of a part of a call with those that the processes of the same node have
// (engine/pace.h).
class CallPace final : public Pace {
 public:
  CallPace(CollectiveCall& call, std::size_t part, int64_t distance_bytes)
      : call_(call), part_(part), distance_(distance_bytes) {
    mine().begun = true;
  }
  // The part keeps no pace.
  static void pass(CollectiveCall& call, std::size_t part) {
    const CallPace at_once(call, part, 0);
  }
  ~CallPace() override { tell(PaceView::ended); }
  CallPace(const CallPace&) = delete;
  CallPace& operator=(const CallPace&) = delete;

  bool come_to(int64_t offset) override {
    tell(offset);
    const PaceView view = look();
    next_stop_ = view.next_stop(distance_);
    return view.near(distance_);
  }
  void wait() override {
    while (!look().near_again(distance_)) call_.progress.wait();
  }
  int64_t next_stop() const override { return next_stop_; }

 private:
  CollectiveCall::Part& mine() const { return call_.parts[part_]; }
  void tell(int64_t offset) {
    mine().offset = offset;
    call_.progress.wake_all();
  }
  PaceView look() const;

  CollectiveCall& call_;
  std::size_t part_;
  int64_t distance_;
  int64_t next_stop_ = 0;
};

}  // namespace forebay::sim
