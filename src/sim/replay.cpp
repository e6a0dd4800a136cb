#include "sim/replay.h"

#include <map>
#include <utility>

namespace forebay::sim {
namespace {

// A handle of an instant cache.
struct InstantHandle {
  void access(const Access& access) const { cache->access(index, access); }
  void access_past(bool writes, Extent extent) const { cache->access_past(index, writes, extent); }
  void commit_range(Extent range) const { cache->commit_range(index, range); }
  void drop_range(Extent range) const { cache->drop_range(index, range); }
  void end_read_ahead() const { cache->end_read_ahead(index); }
  void close(bool discard, AtLeave at_leave) const { cache->close(index, discard, at_leave); }
  void write_as(uint32_t number) const { cache->write_as(index, number); }
  void commit(bool own) const { cache->commit(index, own); }
  void drop_clean() const { cache->drop_clean(index); }
  void truncate(int64_t bytes) const { cache->truncate(index, bytes); }
  void resize(int64_t bytes) const { cache->resize(index, bytes); }

  InstantCache* cache;
  InstantCache::HandleIndex index;
};

Statistics counts_of(const RecordedSteps& steps, const RecordedSteps::Cache& recorded,
                     const CacheSettings& settings) {
  InstantCache cache(settings);
  std::map<RecordedStep::Handle, InstantHandle> handles;
  for (const std::size_t row : recorded.rows) {
    const RecordedStep step = steps.at(row);
    const RecordedStep::Handle who = step.handle();
    if (step.kind == RecordedStep::Kind::join) {
      const auto file = static_cast<uint64_t>(step.file);
      handles[who] = {&cache, cache.open(file, step.reads, step.argument, step.by_agent)};
    } else {
      carry_out(step, handles.at(who));
      if (step.kind == RecordedStep::Kind::leave) handles.erase(who);
    }
  }
  return cache.statistics();
}

}  // namespace

Replayed replay(const trace::Job& job, const trace::Table& table, const CacheSettings& settings,
                Sharing sharing) {
  Replayed replayed;
  const RecordedSteps steps(job, table, sharing, settings.shape.page_size);
  replayed.problem = steps.problem();
  if (!replayed.problem.empty()) return replayed;
  for (const RecordedSteps::Cache& cache : steps.caches()) {
    CacheSettings of_cache = settings;
    if (__builtin_mul_overflow(of_cache.shape.capacity_bytes, cache.ranks,
                               &of_cache.shape.capacity_bytes)) {
      replayed.problem = "its cache would be larger than 63 bits can say";
      return replayed;
    }
    replayed.caches.push_back({cache.name, static_cast<uint32_t>(cache.processes.size()),
                               cache.rows.size(), counts_of(steps, cache, of_cache)});
  }
  return replayed;
}

}  // namespace forebay::sim
