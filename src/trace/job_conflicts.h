// The conflicts of all files of a job, from columns of its accesses: the order of its threads, and
// a finder for each file.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "trace/bytes.h"
#include "trace/conflicts.h"
#include "trace/order.h"
#include "trace/views.h"

namespace forebay::trace {

// Columns of a table of accesses (trace/table.h), of one length.
struct ConflictColumns {
  std::span<const int32_t> file;
  std::span<const uint32_t> process, thread;
  std::span<const int32_t> open;
  std::span<const uint8_t> operation;
  std::span<const int64_t> offset, end;
  std::span<const uint8_t> contiguous;
  std::span<const int32_t> view;
  std::span<const int64_t> position, transferred, start_ns, end_ns, completed_ns;
};

class JobConflicts {
 public:
  // At most so many runs of bytes of a file are kept (ConflictFinder).
  explicit JobConflicts(uint64_t most_runs) : most_runs_(most_runs) {}

  // Takes in accesses, each thread's in their order. One of several runs is several, as far as
  // `views` tell, which may be nullptr.
  void add(const ConflictColumns& columns, const Views* views);
  // Takes what was told to another, of other threads; nothing is left there.
  void merge(JobConflicts&& other);

  // What was told as bytes, and back into one that was told nothing. False: they are none.
  void write(ByteWriter& writer) const;
  bool read(ByteReader& reader);

  // Of each file, by number, all that was told of it. There is nothing afterwards.
  std::vector<std::pair<int32_t, Conflicts>> finish();

 private:
  ConflictFinder& finder(int32_t file);

  uint64_t most_runs_;
  Order order_;
  std::map<int32_t, ConflictFinder> finders_;
  // The finder of the access before, whose file most accesses have, too.
  ConflictFinder* latest_ = nullptr;
  int32_t latest_file_ = -1;
};

}  // namespace forebay::trace
