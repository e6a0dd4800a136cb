// What an MPI-IO routine does, by its name (MPI 4.1, chapter 14).
#pragma once

#include <cstdint>
#include <string_view>

namespace forebay::trace {

// `step`: a change of a cache, recorded within a call with the option `deterministic`; no call of
// the program. `release`, `acquire`, `exchange`: a collective of the program that moves no file
// data and orders ranks (trace/order.h). In it this rank releases, acquires, or does both.
enum class Operation : uint8_t {
  other,
  read,
  write,
  open,
  close,
  seek,
  view,
  sync,
  size,
  step,
  release,
  acquire,
  exchange,
};

// Names of the operations, in the order of the enumeration.
inline constexpr std::string_view operation_names[] = {
    "other", "read", "write", "open",    "close",   "seek",    "view",
    "sync",  "size", "step",  "release", "acquire", "exchange"};

// What is done to a cache, recorded as "forebay_cache_<step>". Reads and writes are, where nodes
// own parts of the file; else the record of the program's access tells of them.
#define FOREBAY_FILE_STEPS(X) \
  X(join) X(leave) X(write_as) X(commit) X(drop_clean) X(truncate) X(resize)
#define FOREBAY_PART_STEPS(X) \
  X(share) X(read) X(write) X(read_past) X(write_past) X(commit_range) X(drop_range)
#define FOREBAY_CACHE_STEPS(X) FOREBAY_FILE_STEPS(X) FOREBAY_PART_STEPS(X)

#define FOREBAY_STEP(step) step,
enum class CacheStep : uint8_t { FOREBAY_CACHE_STEPS(FOREBAY_STEP) };
#undef FOREBAY_STEP

// Who commits when a handle leaves a file that others of the cache have open: the option
// commit_at_close tells, or the handle, or the last one. The step `leave` records it.
enum class AtLeave : uint8_t { as_option, each, last };

// A rank's part in a collective of the program, recorded as "forebay_<part>".
#define FOREBAY_PARTS(X) X(release) X(acquire) X(exchange)

inline bool orders(Operation operation) { return operation >= Operation::release; }

struct RoutineKind {
  Operation operation = Operation::other;
  bool collective = false;   // all ranks of the file call it
  bool nonblocking = false;  // returns a request
  bool operator==(const RoutineKind&) const = default;
};

// The kind of MPI_File_write_at_all, also written File_write_at_all or write_at_all_c, in upper or
// lower case.
RoutineKind kind_of_routine(std::string_view name);

}  // namespace forebay::trace
