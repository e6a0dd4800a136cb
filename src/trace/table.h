// Accesses of a whole job by columns, with what their views, opens and clocks say worked in.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace forebay::trace {

// A time that nobody recorded.
inline constexpr int64_t no_time = std::numeric_limits<int64_t>::min();

struct Table {
  std::vector<int32_t> rank;  // -1: unknown
  std::vector<uint32_t> process, thread;
  std::vector<int32_t> file, open, view;  // indices into Job's; -1: unknown
  std::vector<uint16_t> routine;          // index into Job's
  std::vector<uint8_t> operation;
  std::vector<int8_t> collective;           // 0 or 1; elsewhere -1 for unknown
  std::vector<uint8_t> contiguous, folded;  // 0 or 1
  // Of the first byte that was asked for, and of the one that follows the last. -1: it moves no
  // data, or where is unknown.
  std::vector<int64_t> offset, end;
  std::vector<int64_t> requested, transferred;          // bytes
  std::vector<int64_t> start_ns, end_ns, completed_ns;  // by rank 0's clock; or no_time
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

// What an access takes in memory.
inline constexpr std::size_t table_bytes_per_access =
    6 * sizeof(int32_t) + sizeof(uint16_t) + 4 * sizeof(uint8_t) + 9 * sizeof(int64_t);

}  // namespace forebay::trace
