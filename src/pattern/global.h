// The global signature of a file (Yin III.B.3): what the processes of a job did together.
//
// Patterns of different ranks that differ only in their start become one. The starts follow a rule:
// equal steps from rank to rank, or equal steps along the rows and columns of a process grid. If
// there is no such rule, the start of each rank is listed. The ranks are then one more dimension of
// the pattern. Its spatial class is that of the bytes of all ranks: a pattern that is strided for
// each rank may be contiguous for the job (Yin, figure 4).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pattern/classify.h"
#include "pattern/signature.h"

namespace forebay::pattern {

// A rank may have several local signatures, one per thread.
struct LocalSignature {
  uint32_t rank;
  const Signature* signature;
};

// Ranks first, first + step, ..., last.
struct RankRange {
  uint32_t first = 0;
  uint32_t last = 0;
  uint32_t step = 1;

  uint32_t count() const { return (last - first) / step + 1; }
  bool operator==(const RankRange&) const = default;
};

// The rule for the start of a pattern in each rank. Ranks are numbered i = (rank - first_rank) /
// rank_step. With width 0 they are in one line; otherwise i is in row i / width and column i %
// width of a grid. The start is
//   begin + i * step            or            begin + (i % width) * step + (i / width) * row_step
struct Base {
  uint32_t first_rank = 0;
  uint32_t rank_step = 1;
  uint32_t width = 0;
  int64_t begin = 0;
  int64_t step = 0;
  int64_t row_step = 0;

  int64_t at(uint32_t rank) const;
  bool operator==(const Base&) const = default;
};

struct GlobalPattern {
  // Its first access is at offset 0. A loop of one iteration is a run of accesses that follow no
  // pattern within a rank; a single access is such a run of length one.
  Pattern pattern;
  Base base;                        // used if there are no own_starts
  std::vector<int64_t> own_starts;  // the start of each rank, in the order of `ranks`, if there is
                                    // no rule
  std::vector<RankRange> ranks;
  uint32_t processes = 0;  // number of ranks
  int64_t start_ns = unknown_time;
  int64_t end_ns = unknown_time;
  // Of the bytes of all ranks. Several levels of steps are `nested_strided`.
  Spatial spatial = Spatial::single;
  uint32_t dimension = 0;
  bool overlapping = false;  // different ranks access the same bytes

  struct Start {
    uint32_t rank;
    int64_t offset;
  };
  std::vector<Start> starts() const;  // of each rank, ascending
};

struct GlobalSignature {
  uint32_t processes = 0;               // that accessed the file
  std::vector<RankRange> ranks;         // the ranks of these processes
  std::vector<GlobalPattern> patterns;  // by start
  uint64_t accesses = 0;
  uint64_t covered = 0;   // those in `patterns` with at least three repetitions or ranks
  uint64_t unmerged = 0;  // raw accesses of local signatures with more than most_raw_accesses
  uint64_t lost = 0;
};

// If a local signature has more raw accesses than this, they are taken to be random and only
// counted.
inline constexpr uint64_t most_raw_accesses = 1024;

// If describing the starts of the ranks takes more rules than this, each start is listed.
inline constexpr std::size_t most_rules = 4;

GlobalSignature merge(std::span<const LocalSignature> locals);

std::vector<RankRange> ranges_of(std::span<const uint32_t> ascending_ranks);

// "[0-63], 4096*rank + 512", "[0-15], 100*(rank mod 4) + 9000*(rank div 4)".
std::string notation(const std::vector<RankRange>& ranks);
std::string notation(const Base& base);
// "own starts 512 to 786432": the first and the last in the file.
std::string notation(const std::vector<int64_t>& own_starts);

// A line of a global signature.
struct Line {
  std::string text;
  uint64_t accesses = 0;  // of all ranks in this line
};

// One line per pattern, by start: {processes, <spatial, dimension>, [ranks], base, start, end,
// local pattern signature}. Times are seconds after `zero_ns`. Patterns of single ranks that follow
// no common rule share a line if they have the same direction and spatial class but differ in
// sizes, steps or counts. One line then holds the first such pattern of each rank, the next line
// the second, and so on.
std::vector<Line> global_signature(const GlobalSignature& signature, Operations operations,
                                   int64_t page_bytes, int64_t zero_ns);

}  // namespace forebay::pattern
