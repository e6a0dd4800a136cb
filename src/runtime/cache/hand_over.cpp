#include "channel/plan_exchange.h"
#include "runtime/cache/cached_file.h"
#include "runtime/node/node_member.h"

namespace forebay::runtime {

Status CachedFile::hand_over(const FileDomains& domains, ListExchange& nodes) {
  const Turn turn = step_turn();
  note_step(turn, CacheStep::commit, 0);
  PlanExchange<ArenaDriver> exchange(cache_->driver(), nodes);
  // With `deterministic` each node commits what it has: its steps depend on no other node's.
  const Status status =
      options_.deterministic ? handle_->commit() : handle_->hand_over(domains, exchange);
  return status.ok() ? show_other_nodes() : status;
}

bool CachedFile::wrote_since_hand_over() {
  return statistics_.write_bytes != handed_over_bytes_ || cache_->lacks_commits(file_);
}

void CachedFile::note_handed_over() {
  handed_over_bytes_ = statistics_.write_bytes;
  note_stored();
}

Extent CachedFile::dirty_region() { return cache_->dirty_region(file_); }

}  // namespace forebay::runtime
