#include "sim/recorded_steps.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace forebay::sim {
namespace {

// The step that a routine does to a cache.
RecordedStep::Kind kind_of(const trace::Routine& routine) {
  if (routine.kind.operation == trace::Operation::read) return RecordedStep::Kind::read;
  if (routine.kind.operation == trace::Operation::write) return RecordedStep::Kind::write;
#define FOREBAY_STEP(step) \
  if (routine.name == "forebay_cache_" #step) return RecordedStep::Kind::step;
  FOREBAY_CACHE_STEPS(FOREBAY_STEP)
#undef FOREBAY_STEP
  return RecordedStep::Kind::other;
}

}  // namespace

RecordedSteps::RecordedSteps(const trace::Job& job, const trace::Table& table, Sharing sharing,
                             int64_t page_size)
    : job_(job), table_(table), most_bytes_(std::numeric_limits<int64_t>::max() - page_size) {
  for (const trace::Routine& routine : job.routines()) kinds_.push_back(kind_of(routine));
  std::map<int64_t, const trace::Process*> in_node;  // one of each node, by its cache's number
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (names_cache(row)) in_node[table.transferred[row]] = &job.processes()[table.process[row]];
  }
  std::map<std::string, Cache> caches;
  std::map<const Cache*, std::set<uint32_t>> processes_of;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table.sequence[row] == 0) continue;
    const trace::Process* process = &job.processes()[table.process[row]];
    if (by_agent(row)) {
      const auto other = in_node.find(table.transferred[row]);
      if (other == in_node.end()) {
        problem_ = "no process of the node whose cache has the number " +
                   std::to_string(table.transferred[row]) + " is in the trace";
        return;
      }
      process = other->second;
    }
    Cache& cache = caches[sharing == Sharing::node ? process->host : process->source];
    if (sharing == Sharing::node) cache.ranks = std::max<int64_t>(process->local_ranks, 1);
    processes_of[&cache].insert(static_cast<uint32_t>(process - job.processes().data()));
    cache.rows.push_back(row);
  }
  if (caches.empty())
    problem_ =
        "it has no numbers of what was done to caches; record it with FOREBAY_DETERMINISTIC=1";
  for (auto& [name, cache] : caches) {
    cache.name = name;
    std::ranges::sort(cache.rows, {},
                      [&table](std::size_t row) { return std::pair(table.sequence[row], row); });
    const std::set<uint32_t>& processes = processes_of[&cache];
    cache.processes.assign(processes.begin(), processes.end());
    if (problem_.empty()) problem_ = problem_of(cache);
    caches_.push_back(std::move(cache));
  }
}

// What is wrong unless the steps have the numbers from 1 on, each once, and are all possible.
std::string RecordedSteps::problem_of(const Cache& cache) const {
  std::set<RecordedStep::Handle> joined;
  const auto problem = [&cache](uint64_t number, const char* text) {
    return "the cache of " + cache.name + ": number " + std::to_string(number) + text +
           "; record the trace with FOREBAY_DETERMINISTIC=1 and this scope";
  };
  constexpr int64_t most_ranks = 1 << 20;
  if (cache.ranks > most_ranks)
    return cache.name + " has " + std::to_string(cache.ranks) + " ranks, more than a node can have";
  uint64_t expected = 0;
  for (const std::size_t row : cache.rows) {
    ++expected;
    const uint64_t number = table_.sequence[row];
    if (number < expected) return problem(number, " is there twice");
    if (number > expected) return problem(expected, " of what was done to it is missing");
    const RecordedStep step = at(row);
    const RecordedStep::Handle who = step.handle();
    const bool joins = step.kind == RecordedStep::Kind::join;
    if (joined.contains(who) == joins || !is_possible(step, row))
      return problem(number, " is of a file or bytes that are not there");
    if (joins) joined.insert(who);
    if (step.kind == RecordedStep::Kind::leave) joined.erase(who);
  }
  return "";
}

bool RecordedSteps::is_step(std::size_t row) const {
  return table_.operation[row] == static_cast<uint8_t>(trace::Operation::step);
}

// Whether the step names its own node's cache.
bool RecordedSteps::names_cache(std::size_t row) const {
  return is_step(row) && kinds_[table_.routine[row]] == RecordedStep::Kind::share &&
         table_.requested[row] != 0;
}

bool RecordedSteps::by_agent(std::size_t row) const {
  return is_step(row) && table_.transferred[row] != 0 && !names_cache(row);
}

bool RecordedSteps::is_possible(const RecordedStep& step, std::size_t row) const {
  using enum RecordedStep::Kind;
  if (step.whole) return table_.end[row] <= most_bytes_;
  if (step.kind == read || step.kind == write) {
    if (table_.view[row] < 0) return false;
    const trace::Place place =
        trace::place_of(job_.views()[static_cast<std::size_t>(table_.view[row])].tiling,
                        table_.position[row], table_.requested[row]);
    return place.offset >= 0 && place.end <= most_bytes_;
  }
  if (step.kind == read_past || step.kind == write_past || step.kind == commit_range ||
      step.kind == drop_range)
    return step.range.offset >= 0 && step.range.length >= 0 &&
           step.range.offset <= most_bytes_ - step.range.length;
  if (step.kind == RecordedStep::Kind::join && step.file < 0) return false;
  const bool names_bytes = step.kind == RecordedStep::Kind::join ||
                           step.kind == RecordedStep::Kind::truncate ||
                           step.kind == RecordedStep::Kind::resize;
  return !names_bytes || (step.argument >= 0 && step.argument <= most_bytes_);
}

RecordedStep RecordedSteps::at(std::size_t row) const {
  RecordedStep step;
  step.kind = kinds_[table_.routine[row]];
  step.process = table_.process[row];
  step.open = table_.open[row];
  step.file = table_.file[row];
  step.argument = table_.position[row];
  step.whole = !is_step(row) &&
               (step.kind == RecordedStep::Kind::read || step.kind == RecordedStep::Kind::write);
  if (is_step(row)) return part_at(row, step);
  if (!step.whole) return step;
  const bool contiguous = table_.contiguous[row] != 0;
  step.access.writes = step.kind == RecordedStep::Kind::write;
  step.access.position = contiguous ? table_.offset[row] : table_.position[row];
  const bool has_place = table_.offset[row] >= 0 && step.access.position >= 0;
  step.access.bytes = has_place ? std::max<int64_t>(table_.requested[row], 0) : 0;
  if (!contiguous)
    step.access.view = &job_.views()[static_cast<std::size_t>(table_.view[row])].tiling;
  return step;
}

// The rest of a step that is no access of the program's.
RecordedStep RecordedSteps::part_at(std::size_t row, RecordedStep step) const {
  using enum RecordedStep::Kind;
  step.by_agent = by_agent(row);
  step.reads = table_.requested[row] != 0;
  if (step.kind == leave && table_.requested[row] != 0)
    step.at_leave = table_.requested[row] == static_cast<int64_t>(AtLeave::each) ? AtLeave::each
                                                                                 : AtLeave::last;
  step.range = {table_.position[row], table_.requested[row]};
  step.access.writes = step.kind == write || step.kind == write_past;
  if (step.kind != read && step.kind != write) return step;
  step.access.position = table_.position[row];
  step.access.bytes = std::max<int64_t>(table_.requested[row], 0);
  if (table_.view[row] > 0)
    step.access.view = &job_.views()[static_cast<std::size_t>(table_.view[row])].tiling;
  return step;
}

}  // namespace forebay::sim
