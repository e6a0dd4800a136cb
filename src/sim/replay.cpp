#include "sim/replay.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace forebay::sim {
namespace {

enum class Step : uint8_t {
  other,
  read,
  write,
  join,
  leave,
  write_as,
  commit,
  drop_clean,
  truncate,
  resize,
};

// The step that a routine does to a cache.
Step step_of(const trace::Routine& routine) {
  if (routine.kind.operation == trace::Operation::read) return Step::read;
  if (routine.kind.operation == trace::Operation::write) return Step::write;
#define FOREBAY_STEP(step) \
  if (routine.name == "forebay_cache_" #step) return Step::step;
  FOREBAY_CACHE_STEPS(FOREBAY_STEP)
#undef FOREBAY_STEP
  return Step::other;
}

class Player {
 public:
  Player(const trace::Job& job, const trace::Table& table, const CacheSettings& settings)
      : job_(job),
        table_(table),
        cache_(settings),
        most_bytes_(std::numeric_limits<int64_t>::max() - settings.shape.page_size) {
    for (const trace::Routine& routine : job.routines()) steps_.push_back(step_of(routine));
  }

  // Carries out the step in a row of the table. False: the step belongs to a file that its process
  // has not joined, or to bytes that no file can have.
  bool play(std::size_t row) {
    const Step step = steps_[table_.routine[row]];
    const int64_t argument = table_.position[row];
    const std::pair<uint32_t, int32_t> who{table_.process[row], table_.open[row]};
    if (step == Step::join) {
      if (argument < 0 || argument > most_bytes_) return false;
      const bool reads = table_.requested[row] != 0;
      handles_[who] = cache_.open(static_cast<uint64_t>(table_.file[row]), reads, argument);
      return true;
    }
    const auto known = handles_.find(who);
    if (known == handles_.end()) return false;
    const InstantCache::HandleIndex handle = known->second;
    switch (step) {
      case Step::leave:
        cache_.close(handle, argument != 0);
        handles_.erase(known);
        break;
      case Step::write_as:
        cache_.write_as(handle, static_cast<uint32_t>(argument));
        break;
      case Step::commit:
        cache_.commit(handle, argument != 0);
        break;
      case Step::drop_clean:
        cache_.drop_clean(handle);
        break;
      case Step::truncate:
        if (argument < 0) return false;
        cache_.truncate(handle, argument);
        break;
      case Step::resize:
        if (argument < 0 || argument > most_bytes_) return false;
        cache_.resize(handle, argument);
        break;
      case Step::read:
      case Step::write:
        if (table_.end[row] > most_bytes_) return false;
        access(handle, step, row);
        break;
      default:
        break;
    }
    return true;
  }

  const Statistics& statistics() const { return cache_.statistics(); }

 private:
  void access(InstantCache::HandleIndex handle, Step step, std::size_t row) {
    const int64_t bytes = table_.requested[row];
    if (table_.offset[row] < 0 || bytes < 0) return;
    const bool contiguous = table_.contiguous[row] != 0;
    Access access;
    access.writes = step == Step::write;
    access.position = contiguous ? table_.offset[row] : table_.position[row];
    access.bytes = bytes;
    if (!contiguous) access.view = &job_.views()[static_cast<std::size_t>(table_.view[row])].tiling;
    cache_.access(handle, access);
  }

  const trace::Job& job_;
  const trace::Table& table_;
  InstantCache cache_;
  int64_t most_bytes_;       // most bytes of a file: its last page ends within 63 bits
  std::vector<Step> steps_;  // of each routine
  std::map<std::pair<uint32_t, int32_t>, InstantCache::HandleIndex> handles_;  // process and open
};

struct Numbered {
  uint64_t sequence;
  std::size_t row;
  bool operator<(const Numbered& other) const { return sequence < other.sequence; }
};

// What is wrong if the steps do not have the numbers from 1 on, each once; "" if they have.
std::string gap_in(const std::vector<Numbered>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const uint64_t expected = i + 1;
    if (steps[i].sequence == expected) continue;
    if (steps[i].sequence < expected)
      return "number " + std::to_string(steps[i].sequence) + " is there twice";
    return "number " + std::to_string(expected) + " of what was done to it is missing";
  }
  return "";
}

}  // namespace

Replayed replay(const trace::Job& job, const trace::Table& table, const CacheSettings& settings,
                Sharing sharing) {
  Replayed replayed;
  std::map<std::string, std::vector<Numbered>> steps_of_cache;
  std::map<std::string, std::map<uint32_t, bool>> processes_of_cache;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table.sequence[row] == 0) continue;
    const trace::Process& process = job.processes()[table.process[row]];
    const std::string& name = sharing == Sharing::node ? process.host : process.source;
    steps_of_cache[name].push_back({table.sequence[row], row});
    processes_of_cache[name][table.process[row]] = true;
  }
  if (steps_of_cache.empty()) {
    replayed.problem =
        "it has no numbers of what was done to caches; record it with FOREBAY_DETERMINISTIC=1";
    return replayed;
  }
  for (auto& [name, steps] : steps_of_cache) {
    std::sort(steps.begin(), steps.end());
    CacheSettings of_cache = settings;
    const int64_t ranks = job.processes()[table.process[steps.front().row]].local_ranks;
    if (sharing == Sharing::node && __builtin_mul_overflow(of_cache.shape.capacity_bytes, ranks,
                                                           &of_cache.shape.capacity_bytes)) {
      replayed.problem = "its cache would be larger than 63 bits can say";
      return replayed;
    }
    Player player(job, table, of_cache);
    replayed.problem = gap_in(steps);
    for (std::size_t i = 0; i < steps.size() && replayed.problem.empty(); ++i) {
      if (!player.play(steps[i].row))
        replayed.problem = "number " + std::to_string(steps[i].sequence) +
                           " is of a file or bytes that are not there";
    }
    if (!replayed.problem.empty()) {
      replayed.problem = "the cache of " + name + ": " + replayed.problem +
                         "; record the trace with FOREBAY_DETERMINISTIC=1";
      return replayed;
    }
    replayed.caches.push_back({name, static_cast<uint32_t>(processes_of_cache[name].size()),
                               steps.size(), player.statistics()});
  }
  return replayed;
}

}  // namespace forebay::sim
