#include "trace/sums.h"

#include <algorithm>
#include <bit>

#include "trace/table.h"

namespace forebay::trace {

namespace {

// Wraps around: sizes and times of damaged files may be anything.
void add(int64_t& sum, int64_t number) {
  sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(number));
}

}  // namespace

bool add_sums(const SumColumns& columns, const SumTables& tables) {
  const std::size_t processes = tables.process_ns.size();
  int64_t& first_ns = tables.first_last_ns[0];
  int64_t& last_ns = tables.first_last_ns[1];
  for (std::size_t i = 0; i < columns.file.size(); ++i) {
    const int32_t file = columns.file[i];
    const uint32_t process = columns.process[i];
    if (process >= processes) return false;
    const auto operation = static_cast<Operation>(columns.operation[i]);
    if (operation == Operation::step || orders(operation)) {
      const auto counts = orders(operation) ? tables.orders : tables.steps;
      ++counts[0];
      counts[1] += columns.folded[i];
      continue;
    }
    const int64_t start = columns.start_ns[i], end = columns.end_ns[i];
    const bool timed = start != no_time && end != no_time && columns.folded[i] == 0;
    const auto took =
        static_cast<int64_t>(static_cast<uint64_t>(end) - static_cast<uint64_t>(start));
    if (start != no_time)
      first_ns = std::min(first_ns, start);  // the start of its block, if times are folded
    if (timed) {
      add(tables.process_ns[process], took);
      last_ns = std::max(last_ns, end);
    }
    if (file < 0) continue;
    const auto at = static_cast<std::size_t>(file);
    const std::size_t row = at * operation_count + columns.operation[i];
    if (columns.operation[i] >= operation_count || row >= tables.calls.size()) return false;
    const int64_t requested = columns.requested[i];
    ++tables.calls[row];
    tables.collective[row] += columns.collective[i] > 0;
    tables.undeclared[row] += columns.collective[i] < 0;
    add(tables.requested[row], requested);
    add(tables.transferred[row], columns.transferred[i]);
    const auto size_class = static_cast<std::size_t>(
        std::bit_width(static_cast<uint64_t>(std::max<int64_t>(requested, 0))));
    ++tables.sizes[row * size_classes + size_class];
    if (timed) {
      add(tables.ns[row], took);
      add(tables.size_ns[row * size_classes + size_class], took);
    }
    tables.ends[at] = std::max(tables.ends[at], columns.end[i]);
    if (operation != Operation::read && operation != Operation::write) continue;
    if (requested > 0 && columns.offset[i] < 0) ++tables.unplaced[at];
    tables.users[at * processes + process] = 1;
  }
  return true;
}

}  // namespace forebay::trace
