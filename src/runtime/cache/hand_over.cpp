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

// If the rank that gives them dies, the next one goes on.
Status CachedFile::give_guests(const FileDomains& domains, uint32_t self, const Give& give,
                               const std::function<Status()>& forget) {
  Status status;
  entry_->giving.lock();
  if (entry_->guests.load() != GuestsAre::gone) {
    // Before the first guest is claimed: a rank that has written one later sees it after its write.
    entry_->guests.store(GuestsAre::leaving);
    status = handle_->give_guests(domains, self, [&](uint32_t owner, const IoPlan& plan) {
      PlanRequests requests;
      cache_->driver().to_requests(plan, requests);
      return give(owner, requests.list());
    });
    if (status.ok()) status = forget();
    if (status.ok()) entry_->guests.store(GuestsAre::gone);
  }
  entry_->giving.unlock();
  if (status.ok()) share_with_nodes(false);
  return status;
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
