#include "mpiio/file/atomic_mode.h"

#include "mpiio/file/commit_together.h"
#include "mpiio/file/errors.h"
#include "mpiio/file/file_view.h"
#include "mpiio/file/hand_over.h"
#include "mpiio/library/agreement.h"

namespace forebay::mpiio {
namespace {

int library_set_atomicity(Handle& handle, int flag) {
  const Status status = agree_status(handle.own.comm, make_coherent(handle));
  const int view_code = show_view_to_library(handle);
  const int code = true_code(handle, [&] { return mpi().File_set_atomicity(handle.file, flag); });
  if (!status.ok()) return raise(handle, status, "committing");
  return view_code != MPI_SUCCESS ? view_code : code;
}

}  // namespace

AtomicAccess::AtomicAccess(Handle& handle, const Extent& range, bool writes) : handle_(handle) {
  if (!handle.atomic) return;
  if (handle.kept != nullptr)
    status_ = handle.kept->lock(range, writes);
  else
    handle.cached->lock_access();
  entered_ = status_.ok();
}

AtomicAccess::~AtomicAccess() {
  if (!entered_) return;
  if (handle_.kept != nullptr)
    handle_.kept->unlock();
  else
    handle_.cached->unlock_access();
}

int set_atomicity(Handle& handle, int flag) {
  const int64_t wanted = flag != 0 ? 1 : 0;
  if (!same_on_all_ranks(handle.own.comm, wanted))
    return mpi().File_set_atomicity(handle.file, flag);  // an error: the library names it
  if (handle.all_ranks_share_arena() || handle.kept != nullptr) {
    handle.atomic = wanted != 0;
    wait_for_all(handle.own.comm);  // accesses of the old and the new mode must not overlap
    return MPI_SUCCESS;
  }
  const Status settled = hand_over(handle);
  if (!settled.ok()) return raise(handle, settled, "committing");
  const int code = library_set_atomicity(handle, flag);
  if (any_rank(handle.own.comm, code != MPI_SUCCESS)) return code;
  if (wanted)
    handle.pass_through |= atomic_library;
  else
    handle.pass_through &= ~static_cast<uint32_t>(atomic_library);
  return MPI_SUCCESS;
}

int get_atomicity(Handle& handle, int* flag) {
  if (flag == nullptr) return mpi().File_get_atomicity(handle.file, flag);
  *flag = handle.atomic || (handle.pass_through & atomic_library) ? 1 : 0;
  return MPI_SUCCESS;
}

}  // namespace forebay::mpiio
