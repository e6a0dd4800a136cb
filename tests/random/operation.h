// One operation of a schedule, and its textual form of one line:
//
//   17 write_at_all s=2 | 0 o=12 n=3 t=vec(2,3,5;b1) | 1 o=40 n=1 t=b1
//
// is operation 17 on handle slot 2, with the arguments of ranks 0 and 1. A line can be dropped from
// a schedule without changing the meaning of lines that do not depend on it. All ranks skip an
// operation whose precondition is missing (a handle that was never opened).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datatype.h"

namespace random_io {

constexpr int kMaxRanks = 8;
constexpr int kSlots = 6;  // handle slots
constexpr int kFiles = 3;
constexpr int kAliases = 3;   // the name itself, a hard link, a symbolic link
constexpr int kRequests = 6;  // nonblocking requests of a rank

// Identifies the operation of a rank: a transfer, the bytes it writes, its failure.
constexpr uint32_t operation_id(int number, int rank) {
  return static_cast<uint32_t>(number * kMaxRanks + rank + 1);
}

// The arguments of one rank.
struct Part {
  int rank = 0;
  int64_t offset = 0;        // o: etypes; or bytes where the operation says so
  int64_t count = 0;         // n
  DatatypeRef memory;        // t: memory type
  int64_t shift = 0;         // h: bytes by which the buffer is displaced
  int request = 0;           // q: slot of the nonblocking request
  int64_t displacement = 0;  // d: of a view
  DatatypeRef file_type;     // y
};

struct Operation {
  int number = 0;
  std::string name;
  int slot = 0;         // s: handle slot
  int file = 0;         // f
  int alias = 0;        // a
  int64_t members = 0;  // m: mask of ranks
  int64_t mode = 0;     // w: access mode bits (amode_bits), whence, or a flag
  int64_t value = 0;    // v: size, offset, etypes
  int64_t length = 0;   // l: bytes or elements
  int64_t hints = 0;    // i: index of the hints passed
  int64_t large = 0;    // c: large-count routines
  int64_t error = 0;    // x: errno of a fault
  DatatypeRef etype;    // e
  std::vector<Part> parts;

  const Part* part(int rank) const;
};

std::string format_operation(const Operation& operation);
std::optional<Operation> parse_operation(std::string_view line);

// Access modes in the textual form.
enum AccessMode : int64_t {
  kReadOnly = 1,
  kWriteOnly = 2,
  kReadWrite = 4,
  kCreate = 8,
  kExclusive = 16,
  kAppend = 32,
  kDeleteOnClose = 64,
  kUniqueOpen = 128,
};

// How `arm` and `kill` end a rank (w).
enum Death : int64_t {
  kAfterMicroseconds = 0,
  kAtStorageCall = 1,
  kEachItself = 0,
  kFirstKillsAll = 1,
};

}  // namespace random_io
