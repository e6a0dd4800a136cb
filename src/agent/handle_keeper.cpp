#include "agent/handle_keeper.h"

#include <algorithm>
#include <limits>

namespace forebay::agent {

// What is kept of a handle stays until all ranks that have asked have left: a connection that
// breaks must not let others begin at 0 again.
std::optional<int64_t> HandleKeeper::answer(const KeeperQuestion& question, Rank rank) {
  using What = KeeperQuestion::What;
  const std::lock_guard guard(mutex_);
  Kept& kept = handles_[question.handle];
  kept.ranks.insert(rank);
  if (question.view > kept.view) {
    kept.view = question.view;
    kept.position = 0;
  }
  const int64_t before = kept.position;
  switch (static_cast<What>(question.what)) {
    case What::load:
      return before;
    case What::store:
      kept.position = question.value;
      return before;
    case What::advance:
      if (__builtin_add_overflow(before, question.value, &kept.position)) return std::nullopt;
      return before;
    case What::place:
      return place(kept, question);
    case What::lock:
      return lock(kept, question, rank);
    case What::unlock:
      unlock(kept, rank);
      return 0;
    case What::leave:
      unlock(kept, rank);
      kept.ranks.erase(rank);
      if (kept.ranks.empty()) handles_.erase(question.handle);
      return 0;
  }
  return std::nullopt;
}

std::optional<int64_t> HandleKeeper::place(Kept& kept, const KeeperQuestion& question) {
  if (question.turn == kept.turns) {
    kept.ordered_base = kept.position;
    if (__builtin_add_overflow(kept.position, question.value, &kept.position)) return std::nullopt;
    ++kept.turns;
  }
  if (question.turn + 1 != kept.turns) return std::nullopt;
  return kept.ordered_base;
}

std::optional<int64_t> HandleKeeper::lock(Kept& kept, const KeeperQuestion& question, Rank rank) {
  const Extent& range = question.range;
  const bool sensible = range.offset >= 0 && range.length > 0 &&
                        range.length <= std::numeric_limits<int64_t>::max() - range.offset;
  if (!sensible) return std::nullopt;
  auto mine = std::ranges::find(kept.locks, rank, &Lock::rank);
  const bool asks_again = mine != kept.locks.end() && !mine->held &&
                          mine->range.offset == range.offset && mine->range.length == range.length;
  if (!asks_again) {  // a rank has one access at a time
    unlock(kept, rank);
    mine = kept.locks.insert(kept.locks.end(), {rank, range, question.value != 0, false});
  }
  mine->held = std::none_of(kept.locks.begin(), mine, [&](const Lock& earlier) {
    return (earlier.writes || mine->writes) && earlier.range.offset < range.end() &&
           range.offset < earlier.range.end();
  });
  return int64_t{mine->held};
}

void HandleKeeper::unlock(Kept& kept, Rank rank) {
  std::erase_if(kept.locks, [rank](const Lock& lock) { return lock.rank == rank; });
}

void HandleKeeper::release_all(Rank rank) {
  const std::lock_guard guard(mutex_);
  for (auto& [name, kept] : handles_) unlock(kept, rank);
}

std::size_t HandleKeeper::count() const {
  const std::lock_guard guard(mutex_);
  return handles_.size();
}

}  // namespace forebay::agent
