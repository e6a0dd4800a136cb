// What a program itself makes sure of: which actions of its threads come before which of others,
// whatever the times of one run (Lamport, "Time, Clocks, and the Ordering of Events in a
// Distributed System"; vector clocks as by Mattern).
//
// A thread's actions come in the order in which they were told. Between threads order comes from
// collectives alone: what a thread did before it released into one comes before what another does
// after it acquired from the same one. Nothing else is known to order anything.
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

  // Of each thread how many of its moments are known to be past.
  using Clock = std::vector<uint32_t>;

  // One thread's part in a collective; `key` is the same for all that take part in it.
  struct Part {
    uint64_t key = 0;
    bool releases = false;  // some other waits for what this one gives
    bool acquires = false;  // and it for what all that release give
    int64_t start_ns = 0;
  };

  // Where something stands that a thread did.
  struct Place {
    uint32_t thread = 0;           // its number here
    uint32_t rank = 0;             // ascends wherever order is known
    int64_t time_ns = 0;           // the start, or later: never before what is known to be past
    const Clock* clock = nullptr;  // what is past; nullptr: nothing of other threads
  };

  void collective(uint32_t process, uint32_t thread, const Part& part);
  // The number of a moment for something that began then: the next that is told comes after it.
  uint32_t mark(uint32_t process, uint32_t thread, int64_t start_ns);
  // The number of the last moment; what is done in it is not told apart.
  uint32_t moment(uint32_t process, uint32_t thread, int64_t start_ns);

  // Takes what was told another of other threads.
  void merge(Order&& other);

  // What was told as bytes, and back into one that was told nothing. False: they are none.
  void write(ByteWriter& writer) const;
  bool read(ByteReader& reader);

  // Once all is told. Takes time in proportion to the parts, and where their collectives join
  // groups of threads that differ, to the number of threads for each.
  void resolve();

  // Of what was done in a moment of a thread. After resolve().
  Place place(uint32_t process, uint32_t thread, uint32_t moment, int64_t start_ns) const;
  // The last moment that may have begun before this time of the thread's own clock.
  uint32_t last_moment_before(uint32_t process, uint32_t thread, int64_t ns) const;

  // Whether a thread's moment is past, as this clock says.
  static bool past(const Clock* clock, uint32_t thread, uint32_t moment) {
    return clock != nullptr && (*clock)[thread] > moment;
  }

 private:
  // Each event is the beginning of a moment; the first moment, 0, has none.
  struct Event {
    uint64_t key;
    int64_t start_ns;  // never before those told earlier
    bool releases, acquires;
    bool used;  // something was done in its moment
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
    std::vector<Known> known;  // of the moments in which something was done
  };
  class Resolution;

  using Threads = std::map<std::pair<uint32_t, uint32_t>, Thread>;  // by process and its thread

  Thread& of(uint32_t process, uint32_t thread);
  void add(Thread& thread, const Event& event);

  Threads threads_;
  Threads::value_type* latest_ = nullptr;  // of these, that which was told of last
};

}  // namespace forebay::trace
