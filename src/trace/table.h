// The accesses of a whole job by columns. Views, opens and clocks have been applied to them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace forebay::trace {

// An unknown time.
inline constexpr int64_t no_time = std::numeric_limits<int64_t>::min();

struct Table {
  std::vector<int32_t> rank;  // -1: unknown
  std::vector<uint32_t> process, thread;
  std::vector<int32_t> file, open, view;  // indices into the lists of Job; -1: unknown
  std::vector<uint16_t> routine;          // index into the list of Job
  std::vector<uint8_t> operation;
  std::vector<int8_t> collective;           // 0 or 1; -1: unknown (traces of other tools)
  std::vector<uint8_t> contiguous, folded;  // 0 or 1
  // The first requested byte of the file, and one past the last. -1: the call moves no data, or its
  // place is unknown.
  std::vector<int64_t> offset, end;
  std::vector<int64_t> requested, transferred;          // bytes
  std::vector<int64_t> start_ns, end_ns, completed_ns;  // by the clock of rank 0's node; or no_time
  std::vector<uint64_t> sequence;
  std::vector<int64_t> position;

  std::size_t size() const { return rank.size(); }
  void reserve(std::size_t accesses) {
    for_each_column([accesses](const char*, auto& column) { column.reserve(accesses); });
  }

  // Calls act(name, column) for every column.
  template <typename Act>
  void for_each_column(Act&& act) {
    act("rank", rank);
    act("process", process);
    act("thread", thread);
    act("file", file);
    act("open", open);
    act("routine", routine);
    act("operation", operation);
    act("collective", collective);
    act("offset", offset);
    act("end", end);
    act("contiguous", contiguous);
    act("requested", requested);
    act("transferred", transferred);
    act("start_ns", start_ns);
    act("end_ns", end_ns);
    act("completed_ns", completed_ns);
    act("folded", folded);
    act("sequence", sequence);
    act("view", view);
    act("position", position);
  }
};

// Memory of one access in a table.
inline constexpr std::size_t table_bytes_per_access =
    6 * sizeof(int32_t) + sizeof(uint16_t) + 4 * sizeof(uint8_t) + 9 * sizeof(int64_t);

}  // namespace forebay::trace
