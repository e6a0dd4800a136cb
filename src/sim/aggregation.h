// What two-phase collective buffering hands down instead of the processes' own accesses (Thakur,
// Gropp and Lusk, "Data Sieving and Collective I/O in ROMIO", 1999; ROMIO's default domains).
//
// The accesses of one collective call, united, go from the first byte that any process asked for to
// the last. That region is divided evenly among the aggregators: their file domains. Each goes
// through what was asked for in its domain, from the first byte to the last, in rounds of one
// buffer, all aggregators at a time, and touches the pages of a round from the first byte that was
// asked for in it to the last: holes in between are read, too (data sieving). A round in which
// nothing was asked for is left out.
//
// One collective call: the k-th collective accesses to one collective open, of one routine, by each
// of its ranks; it takes place when the last of them begins. Where a trace does not mark collective
// calls at all, accesses of different processes to one file, all reads or all writes, that begin
// within a window of time are taken for one. Independent accesses go down as they are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/access_log.h"
#include "sim/touches.h"

namespace forebay::sim {

struct Aggregation {
  uint32_t aggregators = 1;  // at most the ranks of the open
  int64_t buffer_bytes = 16 << 20;
  // Where calls are not marked: from the first access united to the last; negative: none are.
  int64_t window_ns = 0;
};

// What goes down together: accesses united, or one that is independent.
struct Request {
  int64_t time_ns = 0;
  uint32_t first = 0, count = 0;  // its members
  uint32_t ranks = 1;
  bool collective = false;
};

struct Requests {
  std::vector<Request> list;      // in the order of their times
  std::vector<uint32_t> members;  // indices into the log's accesses
  std::span<const uint32_t> of(const Request& request) const {
    return std::span(members).subspan(request.first, request.count);
  }
};

// The requests of a sorted log.
Requests requests_of(const AccessLog& log, int64_t window_ns);

// As one cache for all processes is shown them; pieces of `least_past` bytes and more go past it.
// False: they are more touches than `most`, or one call has more rounds than that. Each access is
// met twice; so is `progress` told of it.
bool aggregated_touches(const AccessLog& log, int64_t page_bytes, int64_t least_past,
                        const Aggregation& aggregation, uint64_t most, Shown& shown,
                        Progress& progress);

}  // namespace forebay::sim
