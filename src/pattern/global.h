// The global signature of one file (Yin III.B.3): what the processes of a job did together.
//
// Patterns of different ranks that differ only in where they begin become one. Their beginnings
// follow a rule: even steps from rank to rank, or even steps along the rows and columns of a
// process grid. Or each rank has a start of its own, and all of them are listed. Ranks are then
// another dimension of the pattern, and its spatial class is that of the bytes of all ranks: what
// is strided for each may be contiguous for the job (Yin, figure 4).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pattern/classify.h"
#include "pattern/signature.h"

namespace forebay::pattern {

// A rank may have several, of its threads.
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

// The rule by which the pattern of each rank begins. Its ranks are numbered i = (rank - first_rank)
// / rank_step; i lies in row i / width and column i % width of a grid, or, if width is 0, in one
// line:
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
  // Its first access at offset 0. A loop of one iteration is a run of accesses that follow no
  // pattern within a rank; an access alone, one of such a run.
  Pattern pattern;
  Base base;                        // unless there are
  std::vector<int64_t> own_starts;  // of each rank, in the order of `ranks`, that follow no rule
  std::vector<RankRange> ranks;
  uint32_t processes = 0;  // how many ranks
  int64_t start_ns = unknown_time;
  int64_t end_ns = unknown_time;
  // Of all ranks together. Several levels of steps are `nested_strided`.
  Spatial spatial = Spatial::single;
  uint32_t dimension = 0;
  bool overlapping = false;  // ranks touch the same bytes

  struct Start {
    uint32_t rank;
    int64_t offset;
  };
  std::vector<Start> starts() const;  // of each rank, ascending
};

struct GlobalSignature {
  uint32_t processes = 0;               // that made accesses
  std::vector<RankRange> ranks;         // which: they share the file
  std::vector<GlobalPattern> patterns;  // by start
  uint64_t accesses = 0;
  uint64_t covered = 0;   // of these, in `patterns` of at least three repetitions or ranks
  uint64_t unmerged = 0;  // raw accesses of signatures with too many to look at one by one
  uint64_t lost = 0;
};

// A local signature with more raw accesses than this is taken for random, and these are only
// counted.
inline constexpr uint64_t most_raw_accesses = 1024;

// Where it takes more rules than this to tell where the ranks begin, each has a start of its own.
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
  uint64_t accesses = 0;  // of all ranks, that it stands for
};

// {processes, <spatial, dimension>, [ranks], base, start, end, local pattern signature} of each
// pattern, by start; times are seconds after `zero_ns`. Patterns of several ranks that follow no
// rule and differ in sizes, steps or counts, but are of one direction and spatial class, are a line
// together, which says what they have in common: of each rank the first, of each the second ...
std::vector<Line> global_signature(const GlobalSignature& signature, Operations operations,
                                   int64_t page_bytes, int64_t zero_ns);

}  // namespace forebay::pattern
