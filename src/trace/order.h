// Which actions of a program's threads come before which others in every run, whatever the times of
// one run were (Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System"; vector
// clocks as by Mattern).
//
// The actions of one thread come in the order in which they were added. Actions of different
// threads are ordered by collectives alone: what a thread did before it released into a collective
// comes before what another thread does after it acquired from the same collective. Nothing else is
// taken to order actions.
//
// The actions of a thread are grouped into moments, numbered from 0. A mark or a collective begins
// a new moment.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "trace/bytes.h"

namespace forebay::trace {

class Order {
 public:
  Order() = default;
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;

  // A vector clock: for each thread, the number of its moments known to be past.
  using Clock = std::vector<uint32_t>;

  // One thread's part in a collective. All parts of one collective have the same `key`.
  struct Part {
    uint64_t key = 0;
    bool releases = false;  // another thread waits for this one
    bool acquires = false;  // this thread waits for all that release
    int64_t start_ns = 0;
  };

  // The place of an action in the order.
  struct Place {
    uint32_t thread = 0;           // number of the thread within this Order
    uint32_t rank = 0;             // ascends along every known order
    int64_t time_ns = 0;           // the start; later, if that is before a moment known to be past
    const Clock* clock = nullptr;  // moments of other threads that are past; nullptr: none
  };

  void collective(uint32_t process, uint32_t thread, const Part& part);
  // Begins a moment, for an action that began at `start_ns`, and returns its number. Actions added
  // afterwards come after that action.
  uint32_t mark(uint32_t process, uint32_t thread, int64_t start_ns);
  // The number of the current moment, for an action in it. Actions in one moment are not told
  // apart.
  uint32_t moment(uint32_t process, uint32_t thread, int64_t start_ns);

  // Takes over what was added to another Order; the threads must differ.
  void merge(Order&& other);

  // Writes what was added as bytes; reads it into an empty Order. False: the bytes are no order.
  void write(ByteWriter& writer) const;
  bool read(ByteReader& reader);

  // Computes the order, once everything was added. Takes time in proportion to the number of parts.
  // Where collectives join groups of threads whose clocks differ, each part takes time in
  // proportion to the number of threads.
  void resolve();

  // The place of an action in a moment of a thread. Only after resolve().
  Place place(uint32_t process, uint32_t thread, uint32_t moment, int64_t start_ns) const;
  // The last moment of the thread that may have begun before `ns`, a time of the thread's own
  // clock.
  uint32_t last_moment_before(uint32_t process, uint32_t thread, int64_t ns) const;

  // Whether a thread's moment is past according to `clock`.
  static bool past(const Clock* clock, uint32_t thread, uint32_t moment) {
    return clock != nullptr && (*clock)[thread] > moment;
  }

 private:
  // An event begins a moment. Moment 0 has no event.
  struct Event {
    uint64_t key;
    int64_t start_ns;  // not before those of earlier events
    bool releases, acquires;
    bool used;  // an action was added in its moment
  };
  struct Known {
    uint32_t moment;
    uint32_t rank;
    int64_t time_ns;
    std::shared_ptr<const Clock> clock;
  };
  struct Thread {
    std::vector<Event> events;
    int64_t latest_ns = INT64_MIN;
    uint32_t number = 0;
    std::vector<Known> known;  // for the moments with actions
  };
  class Resolution;

  using Threads = std::map<std::pair<uint32_t, uint32_t>, Thread>;  // by process and thread

  Thread& of(uint32_t process, uint32_t thread);
  void add(Thread& thread, const Event& event);

  Threads threads_;
  Threads::value_type* latest_ = nullptr;  // the thread that was added to last
};

}  // namespace forebay::trace
