// When files were read and written: stretches of time in which reads, or writes, of a file follow
// each other without a pause. Time is divided into at most 1024 steps, whose length grows with the
// job. So memory does not depend on the number of accesses, and parts of a job can be merged in any
// order. Accesses that belong to no stretch are counted.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "trace/bytes.h"

namespace forebay::trace {

// One stretch of reading, or of writing, one file.
struct Stretch {
  int32_t file = 0;
  bool writes = false;
  int64_t start_ns = 0;  // start of the first access
  int64_t end_ns = 0;    // latest end of an access
  uint64_t accesses = 0;
  uint64_t bytes = 0;
};

// Accesses that are in no stretch.
struct LeftOut {
  uint64_t empty = 0;    // accesses that moved no bytes
  uint64_t untimed = 0;  // accesses that moved bytes at an unknown time

  bool operator==(const LeftOut&) const = default;
};

// Columns of a table of accesses (trace/table.h), of one length.
struct ActivityColumns {
  std::span<const int32_t> file;
  std::span<const uint8_t> operation, folded;
  std::span<const int64_t> transferred, start_ns, end_ns;
};

class Activity {
 public:
  // Adds one access that moved bytes from `start_ns` to `end_ns`. Accesses come in any order.
  void add(int32_t file, bool writes, int64_t start_ns, int64_t end_ns, int64_t bytes);
  // Adds the reads and writes of files. Accesses without bytes or times are only counted. A folded
  // time is that of its block and counts as unknown.
  void add(const ActivityColumns& columns);
  void merge(const Activity& other);

  void write(ByteWriter& writer) const;
  bool read(ByteReader& reader);  // into an empty Activity. False: the bytes are no activity

  // Stretches by start. A stretch ends where no access of its kind to the file goes on for
  // `pause_ns`, or for one step if that is longer.
  std::vector<Stretch> stretches(int64_t pause_ns) const;
  const LeftOut& left_out() const { return left_out_; }

 private:
  static constexpr int64_t most_steps = 1024;

  struct Key {
    int32_t file;
    bool writes;
    auto operator<=>(const Key&) const = default;
  };
  // The accesses that begin or end within one step.
  struct Cell {
    uint64_t begun = 0, ended = 0, bytes = 0;
    int64_t first_ns = std::numeric_limits<int64_t>::max();
    int64_t last_ns = std::numeric_limits<int64_t>::min();

    void add(const Cell& other);
  };
  using Cells = std::map<int64_t, Cell>;  // by step

  void make_room(int64_t first_ns, int64_t last_ns);
  void double_steps();
  Cell& cell(Key key, int64_t step);

  std::map<Key, Cells> cells_;
  LeftOut left_out_;
  int shift_ = 0;  // a step is 2^shift nanoseconds
  int64_t first_ns_ = std::numeric_limits<int64_t>::max();
  int64_t last_ns_ = std::numeric_limits<int64_t>::min();
  // The cell of the access before: most accesses belong to the same cell.
  Key latest_key_{-1, false};
  int64_t latest_step_ = 0;
  int64_t latest_begin_ns_ = 0, latest_last_ns_ = 0;  // of the latest step
  Cell* latest_ = nullptr;
};

}  // namespace forebay::trace
