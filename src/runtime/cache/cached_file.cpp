#include "runtime/cache/cached_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "runtime/node/node_member.h"
#include "runtime/node/own_change.h"
#include "storage/workers.h"

namespace forebay::runtime {

Status CachedFile::write(int64_t offset, const std::byte* memory, int64_t length) {
  return handle_->write(Extent{offset, length}, memory);
}

Status CachedFile::read(int64_t offset, std::byte* memory, int64_t length, int64_t* moved) {
  return handle_->read(Extent{offset, length}, memory, moved);
}

Status CachedFile::access(const Access& access, std::byte* memory, int64_t* moved) {
  const std::byte* const source = memory;
  return access.writes ? handle_->write(access, source, moved)
                       : handle_->read(access, memory, moved);
}

Status CachedFile::access(const Access& access, const Tiling& buffer, int64_t* moved) {
  ScatteredMemory::Walk walk(buffer);
  const ScatteredMemory memory(walk);
  return access.writes ? handle_->write(access, memory, moved)
                       : handle_->read(access, memory, moved);
}

void CachedFile::touch(Extent range, bool writes) { (void)handle_->touch(range, writes); }

int64_t CachedFile::bytes_a_round() const {
  return forebay::bytes_a_round(cache_->capacity_bytes(), cache_->page_size());
}

Status CachedFile::size(int64_t* bytes) {
  const Status status = storage().size(bytes);
  if (status.ok()) *bytes = std::max(*bytes, file_.written_end());
  return status;
}

Statistics CachedFile::statistics() const {
  const std::lock_guard<std::mutex> guard(background_mutex_);
  Statistics sum = statistics_;
  sum.add(background_statistics_);
  return sum;
}

// In the background ------------------------------------------------------------------------------

void CachedFile::count_background(const Statistics& statistics) {
  const std::lock_guard<std::mutex> guard(background_mutex_);
  background_statistics_.add(statistics);
}

// close() cancels the handle's jobs on the helper thread, so `this` outlives them.
void CachedFile::commit_in_background(WriteBehind goal) {
  node_->helper().submit(&jobs_.commit, [this, goal] {
    Statistics statistics;
    ArenaFile file = file_.counted_in(statistics);
    const Status ignored = cache_->commit_some(file, goal);
    (void)ignored;  // the bytes stay dirty: sync and close meet the failure and report it
    count_background(statistics);
  });
}

bool CachedFile::write_back_in_background() {
  if (options_.deterministic || !options_.write_behind) return false;
  node_->helper().submit(&jobs_.write_back, [this] {
    Statistics statistics;
    ArenaFile file = file_.counted_in(statistics);
    const Status ignored = cache_->write_back(file);
    (void)ignored;  // as above
    count_background(statistics);
  });
  return true;
}

void CachedFile::cancel_background() {
  for (const char* job : {&jobs_.commit, &jobs_.fetch, &jobs_.write_back})
    node_->helper().cancel(job);
}

void CachedFile::fetch_in_background(std::span<const Extent> extents) {
  {
    const std::lock_guard<std::mutex> guard(background_mutex_);
    to_fetch_.insert(to_fetch_.end(), extents.begin(), extents.end());
  }
  node_->helper().submit(&jobs_.fetch, [this] { fetch_ahead(); });
}

// The extents, divided where another owner's bytes begin. `at_once`: and into parts that storage
// can serve at the same time; what comes first is there before the rest.
std::vector<std::vector<Extent>> CachedFile::parts_to_fetch(std::vector<Extent> extents,
                                                            bool at_once) const {
  constexpr int64_t bytes_a_part = 1 << 20;
  const int64_t page = cache_->page_size();
  const bool owned = source_domains_.owners() > 1;
  std::vector<std::vector<Extent>> parts;
  int64_t chunk = 0, bytes = 0;
  for (Extent left : extents) {
    while (!left.empty()) {
      const int64_t its_chunk = owned ? source_domains_.chunk_of(left.offset) : 0;
      const bool full = at_once && bytes >= bytes_a_part;
      if (std::exchange(chunk, its_chunk) != its_chunk || parts.empty() || full) {
        parts.emplace_back();
        bytes = 0;
      }
      int64_t end = left.end();
      if (owned) end = std::min(end, source_domains_.chunk_at(left.offset).end());
      // A page belongs to one part.
      if (at_once) end = std::min(end, round_down(left.offset + bytes_a_part - bytes, page) + page);
      parts.back().push_back({left.offset, end - left.offset});
      bytes += end - left.offset;
      left = {end, left.end() - end};
    }
  }
  return parts;
}

void CachedFile::fetch_ahead() {
  std::vector<Extent> extents;
  {
    const std::lock_guard<std::mutex> guard(background_mutex_);
    extents.swap(to_fetch_);
  }
  // Owners are asked by one thread at a time.
  const bool at_once = source_domains_.owners() <= 1 && !storage().local();
  const std::vector<std::vector<Extent>> parts = parts_to_fetch(std::move(extents), at_once);
  const auto fetch = [&](std::size_t part) {
    Statistics statistics;
    ArenaFile file = file_.counted_in(statistics);
    const WorkClock clock;
    PageCursor pages(parts[part], cache_->page_size());
    while (!closing_.load(std::memory_order_relaxed) && cache_->prefetch(file, pages)) {
    }
    if (!clock.waited())
      entry_->fetch_ahead_ns.fetch_add(clock.processor_ns(), std::memory_order_relaxed);
    count_background(statistics);
  };
  if (!at_once || parts.size() < 2) {
    for (std::size_t part = 0; part < parts.size(); ++part) fetch(part);
    return;
  }
  constexpr int helpers = 3;  // as for large requests of one list
  Workers::Task task(parts.size(), fetch, helpers);
  Workers::of_process().begin(task);
  Workers::of_process().finish(task);
}

CommitCost CachedFile::commit_cost() const {
  const Statistics mine = statistics();
  const CommitCost known = node_->commit_cost(entry_->identity.device);
  return {mine.commit_ns + known.ns, mine.committed_bytes + known.bytes,
          mine.write_requests + known.requests};
}

// The user is told once on a node.
void CachedFile::tell_of_memory() {
  if (node_->registry().told_of_memory.exchange(1) != 0) return;
  node_->notices().no_memory_for_pages(entry_->path);
}

// Beside accesses --------------------------------------------------------------------------------

Turn CachedFile::step_turn() {
  return Turn(node_->registry(), options_.deterministic ? Numbering::turns : Numbering::none);
}

Turn CachedFile::access_turn(bool numbered) {
  if (options_.deterministic && !shared_) {
    Turn turn = step_turn();
    note_stored_size(turn);
    return turn;
  }
  return Turn(node_->registry(),
              numbered && !options_.deterministic ? Numbering::drawn : Numbering::none);
}

void CachedFile::note_step(const Turn& turn, CacheStep step, int64_t argument, int64_t bytes) {
  if (options_.deterministic) NumberedSteps::note({step, argument, bytes, turn.sequence(), 0, {}});
}

// Others make the file longer, too: what lies beyond its end is not fetched.
void CachedFile::note_stored_size(Turn& turn) {
  int64_t bytes = 0;
  if (!storage().size(&bytes).ok() || entry_->noted_size.exchange(bytes) == bytes) return;
  note_step(turn, CacheStep::resize, bytes);
  turn.next();
}

CachedFile::PartTurn::PartTurn(CachedFile& file, const Access& part, bool past)
    : turn_(file.step_turn()) {
  if (!file.options_.deterministic) return;
  file.note_stored_size(turn_);
  const CacheStep step = part.writes ? (past ? CacheStep::write_past : CacheStep::write)
                                     : (past ? CacheStep::read_past : CacheStep::read);
  NumberedSteps::note({step, part.position, part.bytes, turn_.sequence(), 0,
                       part.view != nullptr ? *part.view : Tiling{}});
}

void CachedFile::note_shared(uint64_t cache) {
  if (!std::exchange(shared_, true)) {
    const RegistryLock lock(node_->registry());
    ++entry_->sharing;
  }
  if (!options_.deterministic) return;
  const Turn turn = step_turn();
  const bool reads_ahead = options_.read_ahead_bytes > 0;
  NumberedSteps::note(
      {CacheStep::share, int64_t{reads_ahead}, int64_t{cache != 0}, turn.sequence(), cache, {}});
}

Status CachedFile::commit() {
  const Status status = commit_unseen();
  return status.ok() ? show_other_nodes() : status;
}

Status CachedFile::commit_unseen() {
  const Turn turn = step_turn();
  note_step(turn, CacheStep::commit, 0);
  // Handles of agents are not asked to forget their ends when others commit.
  std::vector<WrittenEnd> ends;
  if (owners() != 0) (void)within_memory([&] { ends = file_.written_ends(); });
  const Status status = handle_->commit();
  if (status.ok()) ArenaFile::forget_ends(ends);
  return status;
}

Status CachedFile::commit_own() {
  const Turn turn = step_turn();
  note_step(turn, CacheStep::commit, 1);
  return takes_over_ ? handle_->commit() : handle_->commit_own();
}

void CachedFile::write_as(uint32_t number) {
  const Turn turn = step_turn();
  note_step(turn, CacheStep::write_as, number);
  file_.write_as(number);
  seat_->group.store(int64_t{number} + 1);
}

int64_t CachedFile::pace_bytes() const {
  return forebay::pace_bytes(options_.dirty_bound, cache_->frames(), cache_->page_size());
}

std::unique_ptr<SeatPace> CachedFile::make_pace() {
  return std::make_unique<SeatPace>(node_->registry(), *seat_, pace_bytes());
}

bool CachedFile::leaves_commit_to_others(int64_t handles) const {
  return options_.commit_at_close == CommitAtClose::last && entry_->handles.load() > handles;
}

namespace {

std::string record_name(uint64_t owners) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "owners-%016llx",
                static_cast<unsigned long long>(owners));
  return name.data();
}

}  // namespace

Status CachedFile::join_owners(uint64_t owners, std::span<const std::byte> record, bool* news) {
  *news = false;
  // Whoever sees the owners can read who they are.
  const Status kept = keep_owners(owners, record);
  if (!kept.ok()) return kept;
  const RegistryLock lock(node_->registry());
  if (entry_->owners.load() == owners) return {};
  // The owners of those who have just closed the file are left where another open had begun.
  if (entry_->owners.load() != 0 && entry_->sharing > 0) return {Code::unsupported, EBUSY, -1};
  entry_->owners.store(owners, std::memory_order_release);
  *news = true;
  return {};
}

bool CachedFile::note_held(Held held) {
  Held known = entry_->held.load();
  while (known < held && !entry_->held.compare_exchange_weak(known, held)) {
  }
  return known < held;
}

Status CachedFile::keep_owners(uint64_t owners, std::span<const std::byte> record) {
  return node_->keep_record(record_name(owners), record);
}

Status CachedFile::commit_for_owners(const FileDomains& before, const FileDomains& after,
                                     uint32_t self) {
  const Status status = commit();
  if (!status.ok()) return status;
  if (options_.deterministic || before.first_touch()) {
    drop_clean();
    return status;
  }
  cache_->keep_own(file_, before, self);
  cache_->keep_own(file_, after, self);
  return status;
}

std::vector<std::byte> CachedFile::record_of(uint64_t owners) const {
  return node_->record(record_name(owners));
}

int64_t CachedFile::dirty_bytes() const { return cache_->dirty_frames() * cache_->page_size(); }

void CachedFile::note_stored() { handle_->note_stored(); }

Storage& CachedFile::storage() const { return *storage_->storage; }

Status CachedFile::flush_storage() { return storage_->storage->flush(); }

bool CachedFile::hides_from_nodes() {
  return options_.openers != Openers::all_here && storage().close_to_open();
}

Status CachedFile::show_other_nodes() { return hides_from_nodes() ? flush_storage() : Status(); }

void CachedFile::see_other_nodes() {
  if (hides_from_nodes()) storage().refresh();
}

void CachedFile::drop_clean() {
  const Turn turn = step_turn();
  note_step(turn, CacheStep::drop_clean, 0);
  cache_->drop(file_, {0, INT64_MAX}, false);
  see_other_nodes();
}

void CachedFile::truncate_cache(int64_t bytes) {
  const Turn turn = step_turn();
  note_step(turn, CacheStep::truncate, bytes);
  handle_->truncate(bytes);
  see_other_nodes();
}

void CachedFile::note_own_change() {
  runtime::note_own_change(*entry_, node_->job());
  if (!options_.deterministic) return;
  const Turn turn = step_turn();
  int64_t bytes = 0;
  if (storage().size(&bytes).ok()) entry_->noted_size.store(bytes);
  note_step(turn, CacheStep::resize, bytes);
}

Status CachedFile::set_write_through(bool on) {
  if (on == wants_write_through_) return {};
  wants_write_through_ = on;
  if (!on) {
    handle_->end_write_through();
    return {};
  }
  const Turn turn = step_turn();
  note_step(turn, CacheStep::commit, 0);
  return handle_->begin_write_through();
}

void CachedFile::lock_access() { entry_->access.lock(); }
void CachedFile::unlock_access() { entry_->access.unlock(); }

}  // namespace forebay::runtime
