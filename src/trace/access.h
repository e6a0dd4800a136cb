// A recorded call of an MPI-IO routine: one that moves data, or that changes where data goes.
#pragma once

#include <cstdint>
#include <vector>

namespace forebay::trace {

inline constexpr int64_t unknown_time = -1;
inline constexpr int64_t unknown_position = -1;
// A view whose bytes only the MPI library knows.
inline constexpr uint32_t unknown_view = 0xffffffff;

// In the record of a collective of the program (trace/order.h), `file` is this number plus the
// number of the communicator, and `position` is the number of the collective.
inline constexpr uint32_t first_communicator = 0x80000000;

// How exactly the times of accesses are kept.
enum class Times : uint8_t {
  exact,      // of every access
  histogram,  // only counts: durations, and gaps between the starts of two accesses
};

struct Access {
  int64_t start_ns = 0;      // since the job's time zero
  int64_t end_ns = 0;        // when the call returned
  int64_t completed_ns = 0;  // when its request was complete; end_ns without a request; or
                             // unknown_time
  // Of the first data byte, counted in the view's data bytes; unknown_position; or the argument
  // (size, offset) of a routine that moves no data.
  int64_t position = 0;
  int64_t requested = 0;    // data bytes asked for
  int64_t transferred = 0;  // data bytes moved
  uint64_t sequence = 0;    // order among the processes that share a cache; 0: not recorded
  uint32_t file = 0;        // number of the open
  uint32_t view = 0;        // number of the view; 0: all bytes from the beginning of the file; or
                            // unknown_view
  uint32_t request = 0;     // number of a request whose completion is recorded apart; 0: none
  uint8_t routine = 0;      // index in the trace's table of routine names

  bool operator==(const Access&) const = default;
};

// The end of an access that outlasted its call. It is recorded after the access.
struct Completion {
  uint32_t request = 0;      // the access's request
  int64_t completed_ns = 0;  // since the job's time zero
  int64_t shortfall = 0;     // data bytes requested but not moved

  bool operator==(const Completion&) const = default;
};

// Accesses by columns, for analysis.
struct Accesses {
  std::vector<int64_t> start_ns, end_ns, completed_ns, position, requested, transferred;
  std::vector<uint64_t> sequence;
  std::vector<uint32_t> file, view, request, thread;
  std::vector<uint8_t> routine;

  std::size_t size() const { return start_ns.size(); }
  void push_back(const Access& access, uint32_t of_thread);
  Access at(std::size_t index) const;
};

}  // namespace forebay::trace
