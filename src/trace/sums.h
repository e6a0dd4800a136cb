// Sums over a job's accesses, by file and operation. They are added to the caller's tables, so the
// sums of several parts of a trace can be added number by number.
#pragma once

#include <cstdint>
#include <iterator>
#include <span>

#include "trace/routine.h"

namespace forebay::trace {

inline constexpr std::size_t operation_count = std::size(operation_names);
inline constexpr std::size_t size_classes = 64;  // powers of two

// Columns of a table of accesses (trace/table.h), of one length.
struct SumColumns {
  std::span<const int32_t> file;
  std::span<const uint32_t> process;
  std::span<const uint8_t> operation;
  std::span<const int8_t> collective;  // 0 or 1; negative: unknown
  std::span<const uint8_t> folded;
  std::span<const int64_t> offset, end, requested, transferred, start_ns, end_ns;
};

struct SumTables {
  // By file, then operation. `ns` leaves out accesses with folded or unknown times. `undeclared`:
  // calls of which it is unknown whether they were collective.
  std::span<int64_t> calls, collective, undeclared, requested, transferred, ns;
  std::span<int64_t> sizes, size_ns;  // by file, operation and size class (powers of two): calls
                                      // and their nanoseconds
  std::span<int64_t> ends, unplaced;  // by file: one past the last accessed byte; reads and writes
                                      // at an unknown place
  std::span<int64_t> process_ns;      // by process: nanoseconds within calls
  std::span<uint8_t> users;  // by file, then process: whether the process read or wrote the file
  std::span<int64_t> first_last_ns;  // of all calls: the first start and the last end
  // Records that are no calls of MPI-IO and that the other tables leave out: steps of caches, and
  // collectives that order ranks. Two numbers each: how many there are, and how many of them have
  // folded times.
  std::span<int64_t> steps, orders;
};

// False: a row names a file, process or operation that the tables lack. The rows before it were
// added.
bool add_sums(const SumColumns& columns, const SumTables& tables);

}  // namespace forebay::trace
