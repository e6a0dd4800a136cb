// The conflicts of all files of a job, from columns of its accesses. Keeps the order of the job's
// threads, and one ConflictFinder per file.
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
  // Keeps at most `most_runs` runs of bytes per file (ConflictFinder).
  explicit JobConflicts(uint64_t most_runs) : most_runs_(most_runs) {}

  // Adds accesses; those of one thread come in their order. With `views`, an access through a view
  // is added run by run; without (nullptr), such an access is one run.
  void add(const ConflictColumns& columns, const Views* views);
  // Takes over what was added to another; the threads must differ. The other is empty afterwards.
  void merge(JobConflicts&& other);

  // Writes what was added as bytes; reads it into an empty object. False: the bytes are no such
  // thing.
  void write(ByteWriter& writer) const;
  bool read(ByteReader& reader);

  // The conflicts of each file, by the number of the file. Nothing is left afterwards.
  std::vector<std::pair<int32_t, Conflicts>> finish();

 private:
  ConflictFinder& finder(int32_t file);

  uint64_t most_runs_;
  Order order_;
  std::map<int32_t, ConflictFinder> finders_;
  // The finder of the access before: most accesses are to the same file.
  ConflictFinder* latest_ = nullptr;
  int32_t latest_file_ = -1;
};

}  // namespace forebay::trace
