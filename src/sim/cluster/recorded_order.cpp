#include "sim/cluster/recorded_order.h"

#include <algorithm>
#include <utility>

namespace forebay::sim {

RecordedOrder::RecordedOrder(const RecordedSteps& steps)
    : steps_(steps), caches_(steps.caches().size()) {
  for (uint32_t c = 0; c < caches_.size(); ++c) {
    const std::vector<std::size_t>& rows = steps.caches()[c].rows;
    for (std::size_t number = 0; number < rows.size(); ++number)
      add(turns_, {rows[number], c, number});
  }
  add_accesses_past_caches();
}

void RecordedOrder::add(Turns& turns, const Turn& turn) {
  const trace::Table& table = steps_.table();
  const uint32_t process = table.process[turn.row];
  if (process >= turns.size()) turns.resize(process + 1);
  turns[process].push_back(turn);
  files_ = std::max(files_, static_cast<std::size_t>(table.file[turn.row] + 1));
  if (table.start_ns[turn.row] < table.start_ns[first_row_]) first_row_ = turn.row;
}

// They have no numbers: each comes before the process's first step that began later.
void RecordedOrder::add_accesses_past_caches() {
  const trace::Table& table = steps_.table();
  Turns past;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table.sequence[row] == 0 && table.file[row] >= 0 && steps_.at(row).access.bytes > 0)
      add(past, {row, Turn::no_cache, 0});
  }
  turns_.resize(std::max(turns_.size(), past.size()));
  const auto by_start = [&table](const Turn& a, const Turn& b) {
    return table.start_ns[a.row] < table.start_ns[b.row];
  };
  for (std::size_t process = 0; process < past.size(); ++process) {
    std::ranges::stable_sort(past[process], by_start);
    std::vector<Turn>& turns = turns_[process];
    std::vector<Turn> merged;
    auto next = past[process].begin();
    for (const Turn& turn : turns) {
      while (next != past[process].end() && by_start(*next, turn)) merged.push_back(*next++);
      merged.push_back(turn);
    }
    merged.insert(merged.end(), next, past[process].end());
    turns = std::move(merged);
  }
}

std::span<const RecordedOrder::Turn> RecordedOrder::of_process(uint32_t process) const {
  if (process >= turns_.size()) return {};
  return turns_[process];
}

void RecordedOrder::begin(const Turn& turn) {
  if (turn.cache == Turn::no_cache) return;
  Cache& cache = caches_[turn.cache];
  if (cache.next == turn.number) return;
  cache.waiting[turn.number] = Process::current();
  while (cache.next != turn.number) Process::current()->wait();
}

void RecordedOrder::end(const Turn& turn) {
  if (turn.cache == Turn::no_cache) return;
  Cache& cache = caches_[turn.cache];
  ++cache.next;
  const auto waiting = cache.waiting.find(cache.next);
  if (waiting == cache.waiting.end()) return;
  std::exchange(waiting->second, nullptr)->wake();
  cache.waiting.erase(waiting);
}

}  // namespace forebay::sim
