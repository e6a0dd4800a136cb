#include "mpiio/file/positions.h"

#include <numeric>

#include "mpiio/file/commit_together.h"
#include "mpiio/file/errors.h"
#include "mpiio/file/sizes.h"
#include "mpiio/library/agreement.h"
#include "runtime/node/lock.h"

namespace forebay::mpiio {
namespace {

// The data position at the end of file, in a view that only the library walks. It has all bytes,
// and its individual pointer is of no other use. False: the library does not tell.
bool library_end(const Handle& handle, int64_t* position) {
  MPI_Offset etypes = 0;
  const bool told = mpi().File_seek(handle.file, 0, MPI_SEEK_END) == MPI_SUCCESS &&
                    mpi().File_get_position(handle.file, &etypes) == MPI_SUCCESS;
  return told && !__builtin_mul_overflow(etypes, handle.view.etype_bytes(), position);
}

// Computes the data position `offset` etypes away from where `whence` says. False: there is no such
// position, or the size could not be found out (`status`).
bool target_position(Handle& handle, MPI_Offset offset, int whence, int64_t current,
                     int64_t& position, Status& status) {
  int64_t base = 0;
  if (whence == MPI_SEEK_CUR) {
    base = current;
  } else if (whence == MPI_SEEK_END) {
    int64_t bytes = 0;
    if (handle.pass_through & foreign_view) {
      if (!library_end(handle, &base)) return false;
    } else {
      status = size_of(handle, &bytes);
      if (!status.ok()) return false;
      base = handle.view.position_at_end(bytes);
    }
  } else if (whence != MPI_SEEK_SET) {
    return false;
  }
  int64_t distance = 0;
  return !__builtin_mul_overflow(offset, handle.view.etype_bytes(), &distance) &&
         !__builtin_add_overflow(base, distance, &position) && position >= 0;
}

bool known(int whence) {
  return whence == MPI_SEEK_SET || whence == MPI_SEEK_CUR || whence == MPI_SEEK_END;
}

// A seek if the library keeps the shared pointer. The library knows the end of file only after the
// cached bytes are in storage.
int library_seek_shared(Handle& handle, MPI_Offset offset, int whence) {
  wait_for_all(handle.own.comm);
  const Status status = agree_status(handle.own.comm, make_coherent(handle));
  const int code = mpi().File_seek_shared(handle.file, offset, whence);
  return code != MPI_SUCCESS ? code : raise(handle, status, "committing");
}

// The arguments of a shared seek, which must be the same on all ranks.
struct SharedSeek {
  Compared offset;
  Compared whence;
};

Status load_shared(Handle& handle, int64_t* position) {
  if (handle.kept != nullptr) return handle.kept->load(position);
  *position = handle.shared.position->load(std::memory_order_acquire);
  return {};
}

Status store_shared(Handle& handle, int64_t position) {
  if (handle.kept != nullptr) return handle.kept->store(position);
  handle.shared.position->store(position, std::memory_order_release);
  return {};
}

// Where an ordered access of so many bytes begins, in the words that ranks of one node share. The
// first rank to get here moves the shared pointer past all of them; the others read where it was.
// No rank can place the next ordered access before all ranks have begun it, and so have placed this
// one.
int64_t place_here(Handle& handle, int64_t bytes) {
  const int64_t turns = handle.ordered.turns;
  int64_t state = 2 * turns;
  if (handle.shared.turns->compare_exchange_strong(state, state + 1, std::memory_order_acq_rel)) {
    handle.shared.ordered_base->store(handle.shared.position->fetch_add(bytes));
    handle.shared.turns->store(2 * turns + 2, std::memory_order_release);
  }
  runtime::Backoff backoff;
  while (handle.shared.turns->load(std::memory_order_acquire) == 2 * turns + 1) backoff.pause();
  return handle.shared.ordered_base->load();
}

// Finds this rank's position once all ranks' bytes are known.
void place_ordered(Handle& handle) {
  OrderedTurn& turn = handle.ordered;
  const auto mine = turn.all_bytes.begin() + handle.rank;
  const int64_t total = std::accumulate(turn.all_bytes.begin(), turn.all_bytes.end(), int64_t{0});
  int64_t base = 0;
  turn.status = {};
  if (handle.kept != nullptr)
    turn.status = handle.kept->place(turn.turns, total, &base);
  else
    base = place_here(handle, total);
  turn.position = base + std::accumulate(turn.all_bytes.begin(), mine, int64_t{0});
  ++turn.turns;
  turn.open = false;
}

}  // namespace

int seek(Handle& handle, MPI_Offset offset, int whence) {
  Status status;
  {
    int64_t position = 0;
    const HandleLock lock(handle);
    if (target_position(handle, offset, whence, handle.position, position, status)) {
      handle.position = position;
      return MPI_SUCCESS;
    }
  }
  if (!status.ok()) return raise(handle, status, "asking for the size of");
  return mpi().File_seek(handle.file, -1, known(whence) ? MPI_SEEK_SET : whence);
}

int get_position(Handle& handle, MPI_Offset* offset) {
  if (offset == nullptr) return mpi().File_get_position(handle.file, offset);
  const HandleLock lock(handle);
  *offset = handle.position / handle.view.etype_bytes();
  return MPI_SUCCESS;
}

int get_byte_offset(Handle& handle, MPI_Offset offset, MPI_Offset* displacement) {
  int64_t position = 0;
  if (offset < 0 || displacement == nullptr || handle.pass_through & foreign_view ||
      __builtin_mul_overflow(offset, handle.view.etype_bytes(), &position))
    return mpi().File_get_byte_offset(handle.file, offset, displacement);
  const HandleLock lock(handle);
  *displacement = handle.view.offset_of(position);
  return MPI_SUCCESS;
}

int seek_shared(Handle& handle, MPI_Offset offset, int whence) {
  if (!handle.keeps_pointer()) return library_seek_shared(handle, offset, whence);
  const SharedSeek agreed =
      agree_max(handle.own.comm, SharedSeek{Compared(offset), Compared(whence)});
  if (!agreed.offset.same() || !agreed.whence.same())
    return mpi().File_seek_shared(handle.file, offset, whence);  // an error: the library names it
  int64_t position = 0, current = 0, ignored = 0;
  Status status = finish_ordered(handle, &ignored);
  if (status.ok()) status = load_shared(handle, &current);
  bool reached = false;
  if (status.ok()) {
    const HandleLock lock(handle);
    reached = target_position(handle, offset, whence, current, position, status);
  }
  // The first agreement waits until every rank has read the old pointer, the second one until it
  // has changed.
  bool failed = any_rank(handle.own.comm, !reached);
  if (!failed && handle.rank == 0) status = store_shared(handle, position);
  failed = any_rank(handle.own.comm, failed || !status.ok());
  if (!failed) return MPI_SUCCESS;
  if (!status.ok()) return raise(handle, status, "moving the shared file pointer of");
  return mpi().File_seek_shared(handle.file, -1, known(whence) ? MPI_SEEK_SET : whence);
}

int get_position_shared(Handle& handle, MPI_Offset* offset) {
  if (offset == nullptr || !handle.keeps_pointer())
    return mpi().File_get_position_shared(handle.file, offset);
  int64_t position = 0;
  Status status = finish_ordered(handle, &position);
  if (status.ok()) status = load_shared(handle, &position);
  if (!status.ok()) return raise(handle, status, "asking for the shared file pointer of");
  *offset = position / handle.view.etype_bytes();
  return MPI_SUCCESS;
}

Status advance_shared(Handle& handle, int64_t bytes, int64_t* before) {
  if (handle.ordered.open) {
    if (const Status placed = finish_ordered(handle, before); !placed.ok()) return placed;
  }
  if (handle.kept != nullptr) return handle.kept->advance(bytes, before);
  *before = handle.shared.position->fetch_add(bytes, std::memory_order_acq_rel);
  return {};
}

void begin_ordered(Handle& handle, int64_t bytes) {
  OrderedTurn& turn = handle.ordered;
  turn.bytes = bytes;
  mpi().Iallgather(&turn.bytes, 1, mpi().int64, turn.all_bytes.data(), 1, mpi().int64,
                   handle.own.comm, &turn.request);
  turn.open = true;
}

bool ordered_is_known(Handle& handle) {
  if (!handle.ordered.open) return true;
  int done = 0;
  mpi().Test(&handle.ordered.request, &done, MPI_STATUS_IGNORE);
  if (done) place_ordered(handle);
  return done != 0;
}

Status finish_ordered(Handle& handle, int64_t* position) {
  if (handle.ordered.open) {
    mpi().Wait(&handle.ordered.request, MPI_STATUS_IGNORE);
    place_ordered(handle);
  }
  *position = handle.ordered.position;
  return handle.ordered.status;
}

}  // namespace forebay::mpiio
