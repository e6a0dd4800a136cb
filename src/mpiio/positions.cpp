#include "mpiio/positions.h"

#include "mpiio/agreement.h"
#include "mpiio/errors.h"
#include "mpiio/library_access.h"

namespace forebay::mpiio {
namespace {

// The data position `offset` etypes away from where `whence` says; false when there is none, or
// when the size could not be had (`status`).
bool target_position(Handle& handle, MPI_Offset offset, int whence, int64_t current,
                     int64_t& position, Status& status) {
  int64_t base = 0;
  if (whence == MPI_SEEK_CUR) {
    base = current;
  } else if (whence == MPI_SEEK_END) {
    int64_t bytes = 0;
    status = handle.cached->size(&bytes);
    if (!status.ok()) return false;
    base = handle.view.position_at_end(bytes);
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

// Where the library keeps the shared pointer, the view it has makes END right only when what is
// cached has reached storage.
int library_seek_shared(Handle& handle, MPI_Offset offset, int whence) {
  const Status status = agree_status(handle.comm, make_coherent(handle));
  const int code = mpi().File_seek_shared(handle.file, offset, whence);
  return code != MPI_SUCCESS ? code : raise(handle, status, "committing");
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
  if (handle.shared_position == nullptr) return library_seek_shared(handle, offset, whence);
  const auto agreed =
      agree_max(handle.comm, std::array<int64_t, 4>{offset, ~offset, whence, ~whence});
  if (!same_everywhere(agreed[0], agreed[1]) || !same_everywhere(agreed[2], agreed[3]))
    return mpi().File_seek_shared(handle.file, offset, whence);  // an error, which it names
  int64_t position = 0;
  Status status;
  const int64_t current = handle.shared_position->load(std::memory_order_acquire);
  bool reached = false;
  {
    const HandleLock lock(handle);
    reached = target_position(handle, offset, whence, current, position, status);
  }
  // Every rank has read the old pointer before it changes, and none goes on before it has.
  const bool failed = any_rank(handle.comm, !reached);
  if (!failed && handle.rank == 0)
    handle.shared_position->store(position, std::memory_order_release);
  mpi().Barrier(handle.comm);
  if (!failed) return MPI_SUCCESS;
  if (!status.ok()) return raise(handle, status, "asking for the size of");
  return mpi().File_seek_shared(handle.file, -1, known(whence) ? MPI_SEEK_SET : whence);
}

int get_position_shared(Handle& handle, MPI_Offset* offset) {
  if (offset == nullptr || handle.shared_position == nullptr)
    return mpi().File_get_position_shared(handle.file, offset);
  *offset = handle.shared_position->load(std::memory_order_acquire) / handle.view.etype_bytes();
  return MPI_SUCCESS;
}

int64_t advance_shared(Handle& handle, int64_t bytes) {
  return handle.shared_position->fetch_add(bytes, std::memory_order_acq_rel);
}

int64_t advance_ordered(Handle& handle, int64_t bytes) {
  int64_t before = 0;
  mpi().Exscan(&bytes, &before, 1, mpi().int64, mpi().sum, handle.comm);
  if (handle.rank == 0) before = 0;  // MPI leaves it undefined there
  // The last rank knows the total, and takes it at once: others may use the pointer meanwhile.
  const int last = handle.ranks - 1;
  int64_t base = 0;
  if (handle.rank == last) base = advance_shared(handle, before + bytes);
  mpi().Bcast(&base, 1, mpi().int64, last, handle.comm);
  return base + before;
}

}  // namespace forebay::mpiio
