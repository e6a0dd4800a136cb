// Sums over a job's accesses, by file and operation, added to tables that the caller keeps: sums of
// parts of a trace are added up number by number.
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
  std::span<const int8_t> collective;  // 0 or 1; less where that is unknown
  std::span<const uint8_t> folded;
  std::span<const int64_t> offset, end, requested, transferred, start_ns, end_ns;
};

struct SumTables {
  // For each file, for each operation. Nanoseconds leave out what has no time of its own.
  // `undeclared`: calls that may or may not have been collective.
  std::span<int64_t> calls, collective, undeclared, requested, transferred, ns;
  std::span<int64_t> sizes, size_ns;  // of each of these, by size class: calls and nanoseconds
  std::span<int64_t> ends, unplaced;  // of each file: its length as seen; accesses without a place
  std::span<int64_t> process_ns;      // of each process: nanoseconds in calls
  std::span<uint8_t> users;           // for each file, for each process: whether it moved data
  std::span<int64_t> first_last_ns;   // of all calls: the first start, the last end
  // What the others leave out, being no call of MPI-IO, and how many of it have folded times: steps
  // of caches, and collectives that order ranks.
  std::span<int64_t> steps, orders;
};

// False, with some of it added: a row names a file, process or operation that the tables lack.
bool add_sums(const SumColumns& columns, const SumTables& tables);

}  // namespace forebay::trace
