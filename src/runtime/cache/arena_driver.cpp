#include "runtime/cache/arena_driver.h"

#include <algorithm>
#include <ctime>
#include <new>
#include <optional>
#include <vector>

#include "runtime/node/memory_groups.h"
#include "runtime/node/process.h"

namespace forebay::runtime {

// Ends and accesses past the cache ---------------------------------------------------------------

int64_t ArenaFile::written_end() const {
  const Registry& registry = *parts_.registry;
  int64_t end = parts_.entry->unstored_end.load(std::memory_order_acquire);
  const uint32_t seats = registry.seats_in_use.load(std::memory_order_acquire);
  for (uint32_t s = 0; s < seats; ++s) {
    const Seat& seat = registry.seats[s];
    if (seat.file.load(std::memory_order_acquire) != parts_.slot) continue;
    end = std::max(end, seat.end.load(std::memory_order_acquire));
  }
  return end;
}

void ArenaFile::ends_of_others(std::vector<HandleEnd>& ends) const {
  const Registry& registry = *parts_.registry;
  const uint32_t seats = registry.seats_in_use.load(std::memory_order_acquire);
  ends.clear();
  for (uint32_t s = 0; s < seats; ++s) {
    const Seat& seat = registry.seats[s];
    if (&seat == parts_.seat || seat.file.load(std::memory_order_acquire) != parts_.slot) continue;
    const int64_t end = seat.end.load(std::memory_order_acquire);
    if (end > 0) ends.push_back({s, end});
  }
}

void ArenaFile::next_reads_of_others(std::vector<NextReads*>& reads) const {
  Registry& registry = *parts_.registry;
  const uint32_t seats = registry.seats_in_use.load(std::memory_order_acquire);
  reads.clear();
  for (uint32_t s = 0; s < seats; ++s) {
    Seat& seat = registry.seats[s];
    if (&seat != parts_.seat && seat.file.load(std::memory_order_acquire) == parts_.slot)
      reads.push_back(&seat.next_reads);
  }
}

void ArenaFile::pause() const {
  constexpr timespec a_moment{0, 200'000};
  nanosleep(&a_moment, nullptr);
}

std::vector<WrittenEnd> ArenaFile::written_ends() const {
  std::vector<WrittenEnd> ends;
  Registry& registry = *parts_.registry;
  const uint32_t seats = registry.seats_in_use.load(std::memory_order_acquire);
  for (uint32_t s = 0; s < seats; ++s) {
    Seat& seat = registry.seats[s];
    if (seat.file.load(std::memory_order_acquire) != parts_.slot) continue;
    const int64_t end = seat.end.load(std::memory_order_acquire);
    if (end > 0) ends.push_back({&seat, end});
  }
  return ends;
}

void ArenaFile::forget_ends(std::span<const WrittenEnd> ends) {
  for (WrittenEnd known : ends) known.seat->end.compare_exchange_strong(known.end, 0);
}

void ArenaFile::truncate_ends(int64_t bytes) const {
  Registry& registry = *parts_.registry;
  const uint32_t seats = registry.seats_in_use.load(std::memory_order_acquire);
  for (uint32_t s = 0; s < seats; ++s) {
    Seat& seat = registry.seats[s];
    if (seat.file.load(std::memory_order_acquire) != parts_.slot) continue;
    if (seat.end.load() > bytes) seat.end.store(bytes);
  }
}

ArenaFile::Segments ArenaFile::segments_of(ScatteredMemory memory, int64_t length) {
  std::vector<Segment> pieces;
  memory.for_each_piece(length, [&](std::byte* piece, int64_t bytes) {
    pieces.push_back({piece, bytes});
  });
  return Segments(std::move(pieces));
}

Status ArenaFile::write_request(const PastRequest& past, bool may_be_dirty,
                                int64_t* storage_ns) const {
  const Request request{past.offset, past.memory.all()};
  StorageCounters counters;
  const int64_t before = storage_ns == nullptr ? 0 : now_ns();
  std::optional<NotedWrite> noted;
  if (parts_.registry->recoverable)
    // Of a local file the time of modification is not asked: it comes from the clock by which this
    // write is noted.
    noted.emplace(*parts_.entry, parts_.job, *parts_.storage, !parts_.local && may_be_dirty);
  const Status status = parts_.storage->write({&request, 1}, counters);
  if (status.ok()) parts_.entry->note_stored(past.offset + length_of(request));
  if (storage_ns != nullptr) *storage_ns = now_ns() - before;
  parts_.statistics->write_requests += counters.requests;
  parts_.statistics->write_syscalls += counters.syscalls;
  return status;
}

Status ArenaFile::read_request(const PastRequest& past, int64_t* got, int64_t* storage_ns) const {
  const Request request{past.offset, past.memory.all()};
  StorageCounters counters;
  const int64_t before = storage_ns == nullptr ? 0 : now_ns();
  const Status status = past_source()->read({&request, 1}, {got, 1}, counters);
  *got = below_noted_size({past.offset, *got}, *got);
  if (storage_ns != nullptr) *storage_ns = now_ns() - before;
  parts_.statistics->read_requests += counters.requests;
  parts_.statistics->read_syscalls += counters.syscalls;
  return status;
}

// Shards and frames ------------------------------------------------------------------------------

ArenaDriver::ArenaDriver(CacheArena& arena, uint32_t number, Registry& registry, Registry* job,
                         uint32_t process, Callbacks callbacks)
    : arena_(arena),
      number_(number),
      registry_(registry),
      job_(job),
      process_(process),
      callbacks_(std::move(callbacks)),
      populated_(std::make_unique<std::atomic<bool>[]>(arena.frames())) {}

void ArenaDriver::init_shards() {
  for (uint32_t s = 0; s < arena_.shards(); ++s) {
    auto* shard = new (arena_.driver_shard(s)) DriverShard;
    shard->lock.init();
  }
}

bool ArenaDriver::alive(uint32_t process) const {
  return runtime::alive(registry_.processes[process].id);
}

void ArenaDriver::drain(FrameIndex frame) const {
  const uint64_t word = use_word(frame);
  const uint32_t seats = registry_.seats_in_use.load(std::memory_order_acquire);
  for (uint32_t s = 0; s < seats; ++s) {
    Seat& seat = registry_.seats[s];
    Backoff backoff;
    while (seat.busy.load(std::memory_order_seq_cst) == word) {
      // A process that died during a copy has published nothing: its seat is cleared.
      if (backoff.pause() && !alive(seat.process)) {
        uint64_t expected = word;
        seat.busy.compare_exchange_strong(expected, 0);
      }
    }
  }
}

bool ArenaDriver::reserve(FrameIndex first, uint32_t frames) {
  callbacks_.before_growth();
  const ArenaLayout& layout = arena_.layout();
  const auto page = static_cast<std::size_t>(arena_.page_size());
  const std::size_t states = layout.page_state_stride;
  return MemoryGroups::mine().have_room_for(static_cast<int64_t>((page + states) * frames)) &&
         segment_->reserve(layout.frames + sizeof(Frame) * first, sizeof(Frame) * frames) &&
         segment_->reserve(layout.data + page * first, page * frames) &&
         segment_->reserve(layout.page_states + states * first, states * frames);
}

// Mapping a page's memory at once takes a seventh of the time of faulting it in bit by bit.
void ArenaDriver::populate(FrameIndex frame) {
  if (populated_[frame].exchange(true, std::memory_order_relaxed)) return;
  const ArenaLayout& layout = arena_.layout();
  const auto page = static_cast<std::size_t>(arena_.page_size());
  segment_->populate(layout.data + page * frame, page);
  segment_->populate(layout.page_states + layout.page_state_stride * frame,
                     layout.page_state_stride);
}

// Storage ----------------------------------------------------------------------------------------

ArenaDriver::Target ArenaDriver::target(const ArenaFile& file, uint32_t file_slot,
                                        uint64_t file_id) const {
  Storage* const storage = file_id == file.state().id && file.writable()
                               ? file.storage()
                               : callbacks_.find_storage(file_slot, file_id);
  return {&registry_.files[file_slot], storage};
}

void ArenaDriver::to_requests(const IoPlan& plan, PlanRequests& requests) const {
  requests.set(plan, [this](const IoPlan::Part& part) { return memory_of(part, nullptr); });
}

void ArenaDriver::begin_write(const Target& target, const IoPlan& plan, Transfer& transfer) const {
  to_requests(plan, transfer.requests_);
  begin_write(target, transfer);
}

void ArenaDriver::begin_write(const Target& target, const IoPlan& plan, Messages messages,
                              Transfer& transfer) const {
  transfer.requests_.set(plan, [&](const IoPlan::Part& part) {
    return part.staged == IoPlan::in_frame
               ? memory_of(part, nullptr)
               : const_cast<std::byte*>(messages[part.staged]) + part.in_page;
  });
  begin_write(target, transfer);
}

void ArenaDriver::begin_write(const Target& target, Transfer& transfer) const {
  transfer.in_storage_.set(forebay::Transfer::Direction::write, transfer.requests_.list());
  transfer.clock_.emplace();
  if (registry_.recoverable) transfer.noted_.emplace(*target.entry, job_, *target.storage, true);
  transfer.storage_ = target.storage;
  transfer.writes_ = target.entry;
  transfer.storage_->submit(transfer.in_storage_);
}

void ArenaDriver::begin_read(const ArenaFile& file, const IoPlan& plan, const Staging& staging,
                             Transfer& transfer) const {
  transfer.requests_.set(plan, [&](const IoPlan::Part& part) { return memory_of(part, &staging); });
  transfer.in_storage_.set(forebay::Transfer::Direction::read, transfer.requests_.list());
  transfer.storage_ = file.source();
  transfer.reads_ = &file;
  transfer.storage_->submit(transfer.in_storage_);
}

Status ArenaDriver::complete(Transfer& transfer, Statistics& statistics) {
  const Status status = transfer.storage_->complete(transfer.in_storage_);
  transfer.noted_.reset();
  for (std::size_t r = 0; r < transfer.requests_.list().size(); ++r) {
    forebay::Transfer::Outcome& outcome = transfer.in_storage_.outcome(r);
    const Extent moved{transfer.requests_.list()[r].offset, outcome.transferred};
    if (transfer.reads_ != nullptr)
      outcome.transferred = transfer.reads_->below_noted_size(moved, moved.length);
    else
      transfer.writes_->note_stored(moved.end());
  }
  const StorageCounters counters = transfer.in_storage_.counters();
  if (transfer.in_storage_.direction() == forebay::Transfer::Direction::write) {
    statistics.commit_ns += transfer.clock_->cost_ns();
    statistics.write_requests += counters.requests;
    statistics.write_syscalls += counters.syscalls;
  } else {
    statistics.read_requests += counters.requests;
    statistics.read_syscalls += counters.syscalls;
  }
  return status;
}

}  // namespace forebay::runtime
