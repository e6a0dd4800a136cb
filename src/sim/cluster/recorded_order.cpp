#include "sim/cluster/recorded_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace forebay::sim {

RecordedOrder::RecordedOrder(const RecordedSteps& steps)
    : steps_(steps), caches_(steps.caches().size()) {
  put_in_order();
  add_accesses_past_caches();
}

// A process may take steps in several caches. Its steps are put into an order that a run of all
// processes can have: each cache's by their numbers, and a thread's call by call. Within a call a
// process asks several nodes at once.
void RecordedOrder::put_in_order() {
  const trace::Table& table = steps_.table();
  constexpr auto step = static_cast<uint8_t>(trace::Operation::step);
  // A call's record, and those of its steps behind it, have a number that rises in a thread.
  std::vector<uint32_t> calls(table.size(), 0);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> latest;  // by process and thread
  for (std::size_t row = 0; row < table.size(); ++row) {
    uint32_t& call = latest[{table.process[row], table.thread[row]}];
    if (table.operation[row] != step) ++call;
    calls[row] = call;
  }
  using Call = std::vector<Turn>;
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, Call>> threads;
  for (uint32_t c = 0; c < caches_.size(); ++c) {
    const std::vector<std::size_t>& rows = steps_.caches()[c].rows;
    for (std::size_t number = 0; number < rows.size(); ++number) {
      const std::size_t row = rows[number];
      threads[{table.process[row], table.thread[row]}][calls[row]].push_back({row, c, number});
    }
  }
  std::vector<uint64_t> reached(caches_.size(), 0);
  const auto take = [&](Call& call) {
    return std::erase_if(call, [&](const Turn& turn) {
             if (reached[turn.cache] != turn.number) return false;
             ++reached[turn.cache];
             add(turns_, turn);
             return true;
           }) > 0;
  };
  for (bool any = true; any;) {
    any = false;
    for (auto& [thread, of_thread] : threads) {
      while (!of_thread.empty() && take(of_thread.begin()->second)) {
        any = true;
        if (of_thread.begin()->second.empty()) of_thread.erase(of_thread.begin());
      }
    }
    std::erase_if(threads, [](const auto& thread) { return thread.second.empty(); });
  }
  if (!threads.empty())
    throw std::invalid_argument("the numbers of its steps contradict the order of its records");
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
  // Where nodes own parts of a file, the steps tell all.
  std::set<std::pair<uint32_t, int32_t>> shared;  // by process and open
  for (const RecordedSteps::Cache& cache : steps_.caches()) {
    for (const std::size_t row : cache.rows) {
      const RecordedStep step = steps_.at(row);
      if (step.kind == RecordedStep::Kind::share && !step.by_agent)
        shared.insert({step.process, step.open});
    }
  }
  Turns past;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table.sequence[row] != 0 || table.file[row] < 0) continue;
    const RecordedStep step = steps_.at(row);
    if (step.whole && step.access.bytes > 0 && !shared.contains({step.process, step.open}))
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
