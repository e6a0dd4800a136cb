#include "mpiio/access/library_access.h"

#include <limits>

#include "mpiio/file/atomic_mode.h"
#include "mpiio/file/errors.h"
#include "mpiio/file/job_owners.h"
#include "mpiio/library/agreement.h"
#include "mpiio/trace/tracing.h"

namespace forebay::mpiio {
namespace {

// Calls a routine or, if the count needs it, its large-count twin.
#if defined(FOREBAY_LARGE_COUNT)
#define FOREBAY_CALL(name, ...)                                                    \
  (call.count <= std::numeric_limits<int>::max() || mpi().name##_c == nullptr      \
       ? mpi().name(__VA_ARGS__, static_cast<int>(call.count), call.type, &status) \
       : mpi().name##_c(__VA_ARGS__, call.count, call.type, &status))
#else
#define FOREBAY_CALL(name, ...) \
  mpi().name(__VA_ARGS__, static_cast<int>(call.count), call.type, &status)
#endif

Transfer result_of(int code, const MPI_Status& status) {
  Transfer result{code, 0};
  MPI_Count bytes = 0;
  if (code == MPI_SUCCESS && mpi().Get_elements_x(&status, mpi().byte, &bytes) == MPI_SUCCESS &&
      bytes > 0)
    result.bytes = bytes;
  return result;
}

int call_at(Handle& handle, const Call& call, MPI_Offset offset, MPI_Status& status) {
  const bool read = call.operation == Operation::read;
  if (call.collective && call.blocking)
    return read ? FOREBAY_CALL(File_read_at_all, handle.file, offset, call.buffer)
                : FOREBAY_CALL(File_write_at_all, handle.file, offset, call.buffer);
  return read ? FOREBAY_CALL(File_read_at, handle.file, offset, call.buffer)
              : FOREBAY_CALL(File_write_at, handle.file, offset, call.buffer);
}

int call_individual(Handle& handle, const Call& call, MPI_Status& status) {
  return call.operation == Operation::read ? FOREBAY_CALL(File_read, handle.file, call.buffer)
                                           : FOREBAY_CALL(File_write, handle.file, call.buffer);
}

int call_shared(Handle& handle, const Call& call, MPI_Status& status) {
  const bool read = call.operation == Operation::read;
  if (call.collective && call.blocking)
    return read ? FOREBAY_CALL(File_read_ordered, handle.file, call.buffer)
                : FOREBAY_CALL(File_write_ordered, handle.file, call.buffer);
  return read ? FOREBAY_CALL(File_read_shared, handle.file, call.buffer)
              : FOREBAY_CALL(File_write_shared, handle.file, call.buffer);
}

// After a write by the library: the cache's clean bytes may be out of date.
void forget_overwritten(Handle& handle) {
  const HandleLock lock(handle);
  if (handle.job_file != nullptr) return handle.job_file->forget_everywhere();
  if (handle.guests != nullptr) return handle.guests->forget_everywhere();
  handle.cached->drop_clean();
  handle.cached->note_own_change();
}

// Why calls of this handle go to the library (PassThrough in handle.h).
Uncached why_passed(const Handle& handle) {
  return handle.pass_through & foreign_view ? Uncached::foreign_view : Uncached::atomic_mode;
}

// Calls the library with the cache coherent before and after: a later commit must not overwrite the
// library's bytes, and the library must not miss dirty bytes.
template <typename LibraryCall>
Transfer coherently(Handle& handle, const Call& call, LibraryCall library_call) {
  Status committed;
  if (call.collective && call.blocking) wait_for_all(handle.own.comm);
  {
    const HandleLock lock(handle);
    committed = meet_owners(handle);
    if (committed.ok())
      committed = handle.job_file != nullptr ? handle.job_file->commit_everywhere(true)
                  : handle.guests != nullptr ? handle.guests->commit_everywhere(true)
                                             : handle.cached->commit();
  }
  MPI_Status status{};
  const Transfer result = result_of(library_call(status), status);
  // A library's aggregator may write a rank's bytes after the rank's own call has returned.
  if (call.collective && call.blocking && call.operation == Operation::write)
    wait_for_all(handle.own.comm);
  if (call.operation == Operation::write) forget_overwritten(handle);
  if (result.code == MPI_SUCCESS && !committed.ok())
    return {raise(handle, committed, "committing"), 0};
  return result;
}

}  // namespace

Transfer library_access(Handle& handle, const Call& call, int64_t position) {
  const MPI_Offset offset = position / handle.view.etype_bytes();
  Call alone = call;
  if (handle.atomic) alone.collective = false;  // ranks that take turns cannot wait for each other
  handle.uncached.add(why_passed(handle));
  const AtomicAccess turn(handle, {0, INT64_MAX}, true);
  if (!turn.status().ok()) return {raise(handle, turn.status(), "locking"), 0};
  const Transfer result = coherently(
      handle, alone, [&](MPI_Status& status) { return call_at(handle, alone, offset, status); });
  TracedCall::moved(position, result.bytes);
  return result;
}

Transfer library_shared_access(Handle& handle, const Call& call) {
  handle.uncached.add(Uncached::shared_pointer);
  const Transfer result = coherently(
      handle, call, [&](MPI_Status& status) { return call_shared(handle, call, status); });
  TracedCall::asked(result.bytes);  // the bytes asked for are not known
  TracedCall::moved(trace::unknown_position, result.bytes);
  return result;
}

Transfer refuse(Handle& handle, const Call& call) {
  Call alone = call;
  alone.collective = false;
  MPI_Status status{};
  switch (call.positioning) {
    case Positioning::given:
      return result_of(call_at(handle, alone, call.offset, status), status);
    case Positioning::individual:
      return result_of(call_individual(handle, alone, status), status);
    default:
      return result_of(call_shared(handle, alone, status), status);
  }
}

}  // namespace forebay::mpiio
