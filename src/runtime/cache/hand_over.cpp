#include <deque>

#include "runtime/cache/cached_file.h"
#include "runtime/node/node_member.h"
#include "storage/plan_requests.h"

namespace forebay::runtime {
namespace {

// Plans of the engine as lists of bytes for the other nodes.
class Sending {
 public:
  Sending(const ArenaDriver& driver, NodeExchange& nodes) : driver_(driver), nodes_(nodes) {}

  uint32_t count() const { return nodes_.count(); }
  uint32_t self() const { return nodes_.self(); }

  template <typename PlanOf, typename Accept>
  bool exchange(const PlanOf& plan_of, bool more, const Accept& accept) {
    const Status made = within_memory([&] {
      lists_.assign(count(), {});
      requests_.clear();
      for (uint32_t node = 0; node < count(); ++node) {
        driver_.to_requests(plan_of(node), requests_.emplace_back());
        lists_[node] = requests_.back().list();
      }
    });
    sends_ = made.ok();
    return nodes_.exchange(sends_ ? lists_ : std::span<const std::span<const Request>>{}, more,
                           [&](Extent extent, const std::byte* bytes) {
                             return within_memory([&] { return accept(extent, bytes); });
                           });
  }

  template <typename Settle>
  void answer(const Settle& settle) {
    nodes_.answer([&](uint32_t node, bool taken) { settle(node, taken && sends_); });
  }

 private:
  const ArenaDriver& driver_;
  NodeExchange& nodes_;
  std::vector<std::span<const Request>> lists_;
  std::deque<PlanRequests> requests_;
  bool sends_ = false;
};

}  // namespace

Status CachedFile::hand_over(const FileDomains& domains, NodeExchange& nodes) {
  const Turn turn = this->turn(false);
  note_step(turn, CacheStep::commit, 0);
  Sending sending(cache_->driver(), nodes);
  return handle_->hand_over(domains, sending);
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
