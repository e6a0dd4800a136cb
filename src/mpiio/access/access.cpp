#include "mpiio/access/access.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>

#include "mpiio/access/buffer.h"
#include "mpiio/access/device_memory.h"
#include "mpiio/access/library_access.h"
#include "mpiio/file/aggregated_call.h"
#include "mpiio/file/arrivals.h"
#include "mpiio/file/atomic_mode.h"
#include "mpiio/file/errors.h"
#include "mpiio/file/hand_over.h"
#include "mpiio/file/job_owners.h"
#include "mpiio/file/positions.h"
#include "mpiio/trace/tracing.h"

namespace forebay::mpiio {
namespace {

#if defined(FOREBAY_ABI_OPENMPI)
// OMPIO moves the individual pointer by the bytes asked for, as the standard's formula says, and
// accepts accesses that end within an etype.
constexpr bool short_read_moves_by_request = true;
constexpr bool partial_etypes_accepted = true;
#else
// ROMIO moves it by the bytes that a contiguous blocking read got: a program that reads on after
// the file has grown misses nothing. It refuses partial etypes.
constexpr bool short_read_moves_by_request = false;
constexpr bool partial_etypes_accepted = false;
#endif

constexpr int64_t most_staged_bytes = 4 << 20;  // of a device buffer, at a time

// Whether all ranks of the handle carry out the call at the same time. An ordered split access
// whose ranks have begun is carried out by some in the begin, by others in the end.
bool is_of_all_ranks(const Call& call) { return call.collective && call.blocking && !call.placed; }

const char* doing(Operation operation) {
  return operation == Operation::read ? "reading" : "writing";
}

// The pace that an access keeps with those of the other ranks; null: it waits for nobody.
Pace* pace_of(const Handle& handle, const Call& call, const Access& access) {
  if (handle.aggregated_call != nullptr) return handle.aggregated_call;
  if (!is_of_all_ranks(call) || handle.pace == nullptr || !handle.pace->announced()) return nullptr;
  if (!needs_pace(access.bytes, handle.ranks, handle.pace->distance_bytes())) {
    handle.pace->end();
    return nullptr;
  }
  const int64_t first = access.view->offset_of(access.position);
  const int64_t last = access.view->offset_of(access.position + access.bytes - 1);
  handle.pace->begin({first, last + 1 - first});
  return handle.pace.get();
}

// Through `file`: the file in this node's cache, or in those of all nodes.
template <typename File>
Status move_through(File& file, const Handle& handle, const Call& call, int64_t position,
                    const Buffer& buffer, int64_t& moved) {
  const bool writes = call.operation == Operation::write;
  if (handle.view.dense() && buffer.dense != nullptr && handle.aggregated_call == nullptr) {
    const int64_t offset = handle.view.origin() + position;
    if (!writes) return file.read(offset, buffer.dense, buffer.bytes, &moved);
    moved = buffer.bytes;
    return file.write(offset, buffer.dense, buffer.bytes);
  }
  Access access{writes, call.collective, &handle.view.tiling(), position, buffer.bytes};
  if constexpr (std::is_same_v<File, runtime::CachedFile>) {
    access.pace = pace_of(handle, call, access);
    access.told = handle.aggregated_call == nullptr;
  }
  return buffer.dense != nullptr ? file.access(access, buffer.dense, &moved)
                                 : file.access(access, buffer.tiling, &moved);
}

Status move_host(Handle& handle, const Call& call, int64_t position, const Buffer& buffer,
                 int64_t& moved) {
  return handle.through_caches(
      [&](auto& file) { return move_through(file, handle, call, position, buffer, moved); });
}

// Moves the bytes of a device buffer through host memory, so that they use the same cache as any
// other.
Status move_device(Handle& handle, const Call& call, int64_t position, const Buffer& buffer,
                   int64_t& moved) {
  const bool writes = call.operation == Operation::write;
  const int64_t most = std::min(buffer.bytes, most_staged_bytes);
  const auto host = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(most));
  DeviceCopy copy(handle, buffer);
  while (moved < buffer.bytes) {
    Buffer staged;
    staged.bytes = std::min(most, buffer.bytes - moved);
    staged.dense = host.get();
    int64_t done = 0;
    Status status;
    if (writes) status = copy.to_host(host.get(), staged.bytes);
    if (status.ok()) status = move_host(handle, call, position + moved, staged, done);
    if (status.ok() && !writes && done > 0) status = copy.from_host(host.get(), done);
    if (!status.ok()) return status;
    moved += done;
    if (done < staged.bytes) break;  // the end of file
  }
  return Status::success();
}

// Carries out the access in the caches that have the file.
Status move_in_caches(Handle& handle, const Call& call, int64_t position, const Buffer& buffer,
                      int64_t& moved) {
  if (buffer.bytes == 0) {  // counted as a call, too
    const Access nothing{call.operation == Operation::write};
    return handle.through_caches([&](auto& file) { return file.access(nothing, nullptr, &moved); });
  }
  if (handle.view.empty())
    return call.operation == Operation::read ? Status::success()
                                             : Status{Code::bad_argument, 0, -1};
  Extent range{0, 0};  // used in atomic mode
  if (handle.atomic) {
    range.offset = handle.view.offset_of(position);
    range.length = handle.view.offset_of(position + buffer.bytes - 1) + 1 - range.offset;
  }
  const AtomicAccess alone(handle, range, call.operation == Operation::write);
  if (!alone.status().ok()) return alone.status();
  const runtime::Turn turn = handle.cached->access_turn(TracedCall::recording());
  TracedCall::numbered(turn.sequence());
  if (handle.aggregated_call != nullptr)
    handle.aggregated_call->begin(handle.view, position, buffer.bytes);
  if (!is_device_memory(buffer.first)) return move_host(handle, call, position, buffer, moved);
  return within_memory([&] { return move_device(handle, call, position, buffer, moved); });
}

Status move(Handle& handle, const Call& call, int64_t position, const Buffer& buffer,
            int64_t& moved) {
  Status met = meet_owners(handle);
  if (!met.ok()) return met;
  const Status status = move_in_caches(handle, call, position, buffer, moved);
  if (status.ok() && call.operation == Operation::write) met = meet_owners(handle);
  return met.ok() ? status : met;
}

// Whether all bytes of the access have offsets within 64 bits.
bool addressable(const View& view, int64_t position, int64_t bytes) {
  int64_t last = 0;
  if (bytes == 0 || view.empty()) return true;
  if (__builtin_add_overflow(position, bytes - 1, &last)) return false;
  return view.offset_of(last) != std::numeric_limits<int64_t>::max();
}

bool permitted(const Handle& handle, const Call& call, int64_t bytes) {
  if (!(call.operation == Operation::read ? handle.readable : handle.writable)) return false;
  if (partial_etypes_accepted || handle.view.etype_bytes() == 1) return true;
  return bytes % handle.view.etype_bytes() == 0;
}

// The result of an access to the cache, not raised yet. Error handlers are user code and may use
// the handle, so they are called later, without its lock.
struct Moved {
  Status status;
  int64_t bytes = 0;
};

Moved move_at(Handle& handle, const Call& call, const Buffer& buffer, int64_t position) {
  Moved moved;
  moved.status = move(handle, call, position, buffer, moved.bytes);
  TracedCall::moved(position, moved.status.ok() ? moved.bytes : 0);
  return moved;
}

Transfer report(Handle& handle, const Call& call, const Moved& moved) {
  if (moved.status.ok()) return {MPI_SUCCESS, moved.bytes};
  return {raise(handle, moved.status, doing(call.operation)), 0};
}

// An access to the cache at a known position.
Transfer cached_access(Handle& handle, const Call& call, const Buffer& buffer, int64_t position) {
  Moved moved;
  {
    const HandleLock lock(handle);
    moved = move_at(handle, call, buffer, position);
  }
  return report(handle, call, moved);
}

// How far the individual pointer moves.
int64_t advance_of(const Handle& handle, const Call& call, const Buffer& buffer,
                   const Moved& moved) {
  if (!moved.status.ok()) return 0;
  const bool by_request = short_read_moves_by_request || call.operation == Operation::write ||
                          !call.blocking || !handle.view.dense() || buffer.dense == nullptr;
  return by_request ? buffer.bytes : moved.bytes;
}

Transfer at_given_offset(Handle& handle, const Call& call, const Buffer& buffer) {
  int64_t position = 0;
  if (call.offset < 0 ||
      __builtin_mul_overflow(call.offset, handle.view.etype_bytes(), &position) ||
      !addressable(handle.view, position, buffer.bytes))
    return refuse(handle, call);
  if (handle.pass_through != cached_mode) return library_access(handle, call, position);
  return cached_access(handle, call, buffer, position);
}

// The library may wait for other ranks, so the lock is held only for the pointer.
Transfer library_at_individual_pointer(Handle& handle, const Call& call, const Buffer& buffer) {
  int64_t position = 0;
  {
    const HandleLock lock(handle);
    position = handle.position;
    handle.position += buffer.bytes;
  }
  return library_access(handle, call, position);
}

Transfer at_individual_pointer(Handle& handle, const Call& call, const Buffer& buffer) {
  if (handle.pass_through != cached_mode)
    return library_at_individual_pointer(handle, call, buffer);
  Moved moved;
  bool reachable = false;
  {
    const HandleLock lock(handle);
    reachable = addressable(handle.view, handle.position, buffer.bytes);
    if (reachable) {
      moved = move_at(handle, call, buffer, handle.position);
      handle.position += advance_of(handle, call, buffer, moved);
    }
  }
  return reachable ? report(handle, call, moved) : refuse(handle, call);
}

Transfer at_shared_pointer(Handle& handle, const Call& call, const Buffer& buffer) {
  int64_t position = 0;
  Status status;
  if (call.positioning == Positioning::ordered) {
    if (!call.placed) begin_ordered(handle, buffer.bytes);
    status = finish_ordered(handle, &position);
  } else {
    status = advance_shared(handle, buffer.bytes, &position);
  }
  if (!status.ok()) return {raise(handle, status, "moving the shared file pointer of"), 0};
  if (handle.pass_through != cached_mode) return library_access(handle, call, position);
  return cached_access(handle, call, buffer, position);
}

// Whether the library accepts the type but Forebay cannot decode it (nested a thousand times,
// extents beyond 64 bits). The library must not carry out such an access: it does not know the view
// of a cached file.
bool undecodable(const Handle& handle, const Call& call) {
  return call.count >= 0 && committed(handle.own.comm, call.type) &&
         memory_type(handle.own.comm, call.type) == nullptr;
}

Transfer unsupported(Handle& handle) {
  const Status status{Code::unsupported, 0, -1};
  return {raise(handle, status, "following the memory's data type in"), 0};
}

}  // namespace

bool begin_placing(Handle& handle, const Call& call) {
  Buffer buffer;
  const bool valid = describe_buffer(handle, call, buffer) && permitted(handle, call, buffer.bytes);
  begin_ordered(handle, valid ? buffer.bytes : 0);
  return valid;
}

namespace {

Transfer transfer_alone(Handle& handle, const Call& call) {
  Buffer buffer;
  const bool valid = describe_buffer(handle, call, buffer) && permitted(handle, call, buffer.bytes);
  const bool of_shared_pointer =
      call.positioning == Positioning::shared || call.positioning == Positioning::ordered;
  if (of_shared_pointer && !handle.keeps_pointer()) return library_shared_access(handle, call);
  if (!valid) {
    // The other ranks wait for this one, to know their positions.
    if (call.positioning == Positioning::ordered && !call.placed) {
      int64_t ignored = 0;
      begin_ordered(handle, 0);
      (void)finish_ordered(handle, &ignored);
    }
    return undecodable(handle, call) ? unsupported(handle) : refuse(handle, call);
  }
  TracedCall::asked(buffer.bytes);
  switch (call.positioning) {
    case Positioning::given:
      return at_given_offset(handle, call, buffer);
    case Positioning::individual:
      return at_individual_pointer(handle, call, buffer);
    default:
      return at_shared_pointer(handle, call, buffer);
  }
}

// All ranks of the handle, in one blocking collective access, have waited for each other when it
// begins. It ends when all of them have their bytes. Not in atomic mode, in which a rank may wait
// for another one's access.
class ExchangeTurn {
 public:
  explicit ExchangeTurn(Handle& handle)
      : handle_(handle),
        exchanges_(handle.exchange != nullptr && !handle.atomic &&
                   handle.job_file->may_exchange()) {
    if (!exchanges_) return;
    const HandleLock lock(handle_);
    handle_.job_file->exchange_over(handle_.exchange.get());
  }
  ~ExchangeTurn() {
    if (!exchanges_) return;
    const HandleLock lock(handle_);
    handle_.exchange->close();
    handle_.job_file->exchange_over(nullptr);
  }
  ExchangeTurn(const ExchangeTurn&) = delete;
  ExchangeTurn& operator=(const ExchangeTurn&) = delete;

 private:
  Handle& handle_;
  const bool exchanges_;
};

// Tells the other ranks that this one takes part in a collective access, until it ends.
class PacedAccess {
 public:
  explicit PacedAccess(Handle& handle)
      : pace_(handle.atomic || handle.job_file != nullptr ? nullptr : handle.pace.get()) {
    if (pace_ != nullptr) pace_->announce();
  }
  ~PacedAccess() {
    if (pace_ != nullptr) pace_->end();
  }
  PacedAccess(const PacedAccess&) = delete;
  PacedAccess& operator=(const PacedAccess&) = delete;

 private:
  runtime::SeatPace* const pace_;
};

}  // namespace

Transfer transfer(Handle& handle, const Call& call) {
  if (!is_of_all_ranks(call)) return transfer_alone(handle, call);
  const PacedAccess paced(handle);
  wait_for_ranks(handle);
  const Status settled = hand_over(handle, &call);
  Transfer result;
  {
    const ExchangeTurn turn(handle);
    std::optional<AggregatedCall> aggregated;
    if (AggregatedCall::takes(handle, call))
      aggregated.emplace(handle, call.operation == Operation::write);
    result = transfer_alone(handle, call);
  }
  if (result.code == MPI_SUCCESS && !settled.ok()) return {raise(handle, settled, "committing"), 0};
  return result;
}

}  // namespace forebay::mpiio
