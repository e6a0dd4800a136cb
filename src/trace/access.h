// A recorded call of an MPI-IO routine that moves data or changes where it goes.
#pragma once

#include <cstdint>
#include <vector>

namespace forebay::trace {

inline constexpr int64_t unknown_time = -1;
inline constexpr int64_t unknown_position = -1;
inline constexpr uint32_t unknown_view = 0xffffffff;  // one that only the MPI library walks

// Records of a program's collectives have this and the number of their communicator in the place of
// an open's number, and in that of the position the collective's own (trace/order.h).
inline constexpr uint32_t first_communicator = 0x80000000;

// What is kept of the times.
enum class Times : uint8_t {
  exact,      // of every access
  histogram,  // how many accesses took how long, and how long after the one before they began
};

struct Access {
  int64_t start_ns = 0;      // since the job's time zero
  int64_t end_ns = 0;        // the call returned
  int64_t completed_ns = 0;  // its request was complete; end_ns where it has none; or unknown_time
  int64_t position = 0;      // of the first data byte, in the view's data bytes, or unknown; or the
                             // argument of a routine that moves none (a size, an offset)
  int64_t requested = 0;     // data bytes asked for
  int64_t transferred = 0;   // data bytes moved
  uint64_t sequence = 0;     // order among the processes that share a cache, 0 where none is kept
  uint32_t file = 0;         // number of the open
  uint32_t view = 0;         // number of the view; 0: all bytes from the beginning of the file; or
                             // unknown
  uint32_t request = 0;      // number of a request whose completion the trace tells apart, or none
  uint8_t routine = 0;       // index in the trace's table of names

  bool operator==(const Access&) const = default;
};

// The end of an access that outlasted its call, known after its access was recorded.
struct Completion {
  uint32_t request = 0;      // the access's
  int64_t completed_ns = 0;  // since the job's time zero
  int64_t shortfall = 0;     // data bytes asked for and not moved

  bool operator==(const Completion&) const = default;
};

// Accesses by columns, as analysis wants them.
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
