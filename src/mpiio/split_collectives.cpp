#include "mpiio/split_collectives.h"

#include "mpiio/errors.h"
#include "mpiio/memory_type.h"
#include "mpiio/view.h"

namespace forebay::mpiio {
namespace {

// The user may free the type between begin and end.
void keep_type(Call& call) { call.type = duplicate_type(call.type); }

void release_type(Call& call) {
  if (!predefined(call.type)) mpi().Type_free(&call.type);
}

Transfer act_at_end(Handle& handle) {
  Call& call = handle.split.call;
  call.blocking = true;
  const Transfer result = transfer(handle, call);
  release_type(call);
  return result;
}

}  // namespace

int begin_split(Handle& handle, const Call& call) {
  SplitCollective& split = handle.split;
  if (split.active)
    return raise(handle, MPI_ERR_IO,
                 "Forebay: a split collective is already under way on \"" + handle.name + "\"");
  // A begin never waits for another rank. Ranks in order must wait to know their positions, so
  // theirs is left to the end.
  split.deferred = call.positioning == Positioning::ordered && committed(handle.comm, call.type);
  split.call = call;
  split.bytes = 0;
  if (split.deferred) {
    keep_type(split.call);
  } else {
    const Transfer result = transfer(handle, call);
    if (result.code != MPI_SUCCESS) return result.code;
    split.bytes = result.bytes;
  }
  split.active = true;
  return MPI_SUCCESS;
}

int end_split(Handle& handle, Operation operation, Positioning positioning, MPI_Status* status) {
  SplitCollective& split = handle.split;
  if (!split.active || split.call.operation != operation || split.call.positioning != positioning)
    return raise(handle, MPI_ERR_IO,
                 "Forebay: no split collective of this kind was begun on \"" + handle.name + "\"");
  split.active = false;
  return finish(split.deferred ? act_at_end(handle) : Transfer{MPI_SUCCESS, split.bytes}, status);
}

}  // namespace forebay::mpiio
