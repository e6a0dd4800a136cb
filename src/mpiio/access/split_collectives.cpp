#include "mpiio/access/split_collectives.h"

#include "mpiio/access/library_access.h"
#include "mpiio/file/errors.h"
#include "mpiio/file/positions.h"
#include "mpiio/types/memory_type.h"
#include "mpiio/types/view.h"

namespace forebay::mpiio {
namespace {

Transfer act_deferred(Handle& handle) {
  Call& call = handle.split.call;
  call.blocking = true;
  handle.split.deferred = false;
  const Transfer result = transfer(handle, call);
  if (!predefined(call.type)) mpi().Type_free(&call.type);
  return result;
}

// Begins an ordered split collective. A begin never waits for other ranks, but ranks must wait for
// each other to know their positions. So the end carries out the access, unless all ranks have
// begun by now.
int begin_ordered_split(Handle& handle, const Call& call) {
  SplitCollective& split = handle.split;
  const bool library_keeps_pointer = !handle.keeps_pointer();
  if (!library_keeps_pointer && !begin_placing(handle, call)) {
    int64_t ignored = 0;
    (void)finish_ordered(handle, &ignored);
    return refuse(handle, call).code;
  }
  split.call = call;
  split.call.placed = !library_keeps_pointer;
  split.call.type = duplicate_type(call.type);  // the user may free it before the end
  split.deferred = true;
  split.active = true;
  const bool may_act = !library_keeps_pointer && handle.pass_through == cached_mode;
  if (!may_act || !ordered_is_known(handle)) return MPI_SUCCESS;
  const Transfer result = act_deferred(handle);
  split.bytes = result.bytes;
  split.active = result.code == MPI_SUCCESS;
  return result.code;
}

}  // namespace

int begin_split(Handle& handle, const Call& call) {
  SplitCollective& split = handle.split;
  if (split.active)
    return raise(handle, MPI_ERR_IO,
                 "Forebay: a split collective is already under way on \"" + handle.name + "\"");
  if (call.positioning == Positioning::ordered && committed(handle.own.comm, call.type))
    return begin_ordered_split(handle, call);
  split.call = call;
  const Transfer result = transfer(handle, call);
  split.bytes = result.bytes;
  split.active = result.code == MPI_SUCCESS;
  return result.code;
}

int end_split(Handle& handle, Operation operation, Positioning positioning, MPI_Status* status) {
  SplitCollective& split = handle.split;
  if (!split.active || split.call.operation != operation || split.call.positioning != positioning)
    return raise(handle, MPI_ERR_IO,
                 "Forebay: no split collective of this kind was begun on \"" + handle.name + "\"");
  split.active = false;
  return finish(split.deferred ? act_deferred(handle) : Transfer{MPI_SUCCESS, split.bytes}, status);
}

}  // namespace forebay::mpiio
