#include "mpiio/file/sizes.h"

#include "mpiio/file/commit_together.h"
#include "mpiio/file/errors.h"
#include "mpiio/file/hand_over.h"
#include "mpiio/file/job_owners.h"
#include "mpiio/library/agreement.h"

namespace forebay::mpiio {
namespace {

Status flush_storage(Handle& handle) {
  const HandleLock lock(handle);
  return handle.has_other_owners() ? handle.job_file->flush_everywhere()
                                   : handle.cached->flush_storage();
}

void forget_beyond(Handle& handle, MPI_Offset bytes) {
  const HandleLock lock(handle);
  (void)meet_owners(handle);  // set_size asks for the size before, and meets the failure
  if (handle.has_other_owners())
    handle.job_file->truncate_everywhere(bytes);
  else
    handle.cached->truncate_cache(bytes);
}

}  // namespace

Status size_of(Handle& handle, int64_t* bytes) {
  const Status met = meet_owners(handle);
  if (!met.ok()) return met;
  return handle.through_caches([&](auto& file) { return file.size(bytes); });
}

int get_size(Handle& handle, MPI_Offset* bytes) {
  if (bytes == nullptr) return mpi().File_get_size(handle.file, bytes);
  int64_t found = 0;
  Status status;
  {
    const HandleLock lock(handle);
    status = size_of(handle, &found);
  }
  *bytes = found;
  return raise(handle, status, "asking for the size of");
}

int set_size(Handle& handle, MPI_Offset bytes) {
  if (!same_on_all_ranks(handle.own.comm, bytes) || bytes < 0 || !handle.writable)
    return mpi().File_set_size(handle.file, bytes);  // an error, which the library names
  // All earlier writes of the handle's ranks are in the cache now: the agreement above waited for
  // them. Bytes beyond the new end must be forgotten before storage shrinks, since a later commit
  // would bring them back, and again afterwards, since read-ahead may have fetched them while
  // storage still had them.
  const Status settled = hand_over(handle);
  const bool shared = handle.all_ranks_share_arena();  // if one rank forgets, all have
  forget_beyond(handle, bytes);
  if (!shared) wait_for_all(handle.own.comm);
  const int code = mpi().File_set_size(handle.file, bytes);
  handle.cached->note_own_change();
  // In every library, rank 0 returns only when storage has its new size; other ranks may return
  // earlier.
  if (shared && handle.rank == 0) forget_beyond(handle, bytes);
  wait_for_all(handle.own.comm);
  if (!shared) {
    forget_beyond(handle, bytes);
    wait_for_all(handle.own.comm);
  }
  if (code == MPI_SUCCESS && !settled.ok()) return raise(handle, settled, "committing");
  return code;
}

int preallocate(Handle& handle, MPI_Offset bytes) {
  if (!same_on_all_ranks(handle.own.comm, bytes) || bytes < 0 || !handle.writable)
    return mpi().File_preallocate(handle.file, bytes);
  // The library may read and rewrite the file's bytes, so all of them must be in storage.
  const Status status =
      handle.nodes != nullptr ? hand_over(handle) : agree_status(handle.own.comm, commit(handle));
  if (!status.ok()) return raise(handle, status, "committing");
  const int code = mpi().File_preallocate(handle.file, bytes);
  handle.cached->note_own_change();
  wait_for_all(handle.own.comm);  // in some libraries only rank 0 does the work
  const HandleLock lock(handle);
  handle.cached->see_other_nodes();
  return code;
}

int sync(Handle& handle) {
  Status status;
  if (handle.writable) {
    status = commit_together(handle, CommitFor::sync);
    if (status.ok()) status = agree_status(handle.own.comm, flush_storage(handle));
  }
  // The library decides whether a file that is only read can be synchronised.
  const bool ask_library = !handle.writable || handle.pass_through != cached_mode;
  const int code = ask_library ? mpi().File_sync(handle.file) : MPI_SUCCESS;
  if (!(handle.amode & MPI_MODE_UNIQUE_OPEN) || !handle.all_ranks_share_arena()) {
    // Other processes may have written to the file past this cache (with MPI_MODE_UNIQUE_OPEN only
    // other ranks of the handle). After a sync their bytes must be seen.
    const HandleLock lock(handle);
    if (handle.has_other_owners())
      handle.job_file->forget_everywhere();
    else
      handle.cached->drop_clean();
  }
  return status.ok() ? code : raise(handle, status, "syncing");
}

}  // namespace forebay::mpiio
