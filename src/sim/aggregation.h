// The accesses of two-phase collective buffering, which replace the processes' own (Thakur, Gropp
// and Lusk, "Data Sieving and Collective I/O in ROMIO", 1999; ROMIO's default domains).
//
// The accesses of one collective call are united: together they reach from the first to the last
// byte that any process requests. This region is divided evenly among the aggregators, into file
// domains. An aggregator goes through the requested part of its domain in rounds of one buffer; all
// aggregators do a round at a time. In each round it touches the pages from the first to the last
// requested byte, holes included (data sieving). Rounds without a requested byte are left out.
//
// A collective call consists of the k-th collective access of each rank of a collective open; these
// accesses must be of one routine. It takes place when the last of them starts. If a trace does not
// mark collective calls, accesses to one file by different processes that start within a window of
// time are united instead, reads apart from writes. Independent accesses stay as they are.
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
  // For traces without marks: the longest time between the first and the last start of united
  // accesses; negative: nothing is united.
  int64_t window_ns = 0;
};

// Accesses united into one request, or one independent access.
struct Request {
  int64_t time_ns = 0;
  uint32_t first = 0, count = 0;  // range of Requests::members
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

// What an access requests within a range: from the first to the last byte, and how many of these.
struct Asked {
  int64_t begin = 0, end = 0;
  int64_t bytes = 0;
};
Asked asked_within(const AccessLog& log, const DataAccess& access, int64_t begin, int64_t end);

// The touches of one cache for all processes. Pieces of at least `least_past` bytes go past the
// cache. False: there are more touches than `most`, or one call has more rounds than that.
// `progress` counts each access twice. With `pieces`, the requests are kept, too.
bool aggregated_touches(const AccessLog& log, int64_t page_bytes, int64_t least_past,
                        const Aggregation& aggregation, uint64_t most, Shown& shown,
                        Progress& progress, bool pieces = false);

}  // namespace forebay::sim
