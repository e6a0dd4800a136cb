#include "mpiio/file/hand_over.h"

#include <algorithm>
#include <cstdint>

#include "mpiio/file/owners_parts.h"
#include "mpiio/library/agreement.h"

namespace forebay::mpiio {

namespace {

// Whether the rank's part of the access may put bytes into caches.
bool may_cache(const Handle& handle, const Call& access) {
  MPI_Count bytes = 0;
  if (access.type == mpi().datatype_null) return false;  // an error, which the access tells
  if (access.count <= 0 || mpi().Type_size_x(access.type, &bytes) != MPI_SUCCESS || bytes <= 0)
    return false;
  const MPI_Count count = std::min<MPI_Count>(access.count, INT64_MAX / bytes);
  return !handle.view.dense() || !handle.job_file->is_long(bytes * count);
}

// The ranks wait for each other. Before the first access that puts bytes into caches, all owners
// are told, each by its own ranks.
void wait_and_tell(Handle& handle, const Call* access) {
  if (access == nullptr) return wait_for_all(handle.own.comm);
  AccessFacts facts;
  {
    const HandleLock lock(handle);
    const bool tells = handle.writable && !handle.elsewhere && handle.job_file->nothing_held();
    const bool looks = may_change_parts(handle);
    if ((tells || looks) && may_cache(handle, *access)) {
      facts.tells = int64_t{tells};
      if (looks) note_region(handle, *access, &facts);
    }
  }
  facts = agree_max(handle.own.comm, facts);
  if (may_change_parts(handle)) change_parts(handle, facts);
  if (facts.tells == 0) return;
  {
    const HandleLock lock(handle);
    handle.job_file->note_owners_told();
  }
  wait_for_all(handle.own.comm);
}

}  // namespace

Status hand_over(Handle& handle, const Call* access) {
  if (handle.job_file != nullptr && !handle.one_node) {
    // What was written is with its owners. A rank that comes first must not go on before the others
    // have written what is theirs.
    wait_and_tell(handle, access);
    return {};
  }
  if (handle.nodes == nullptr || !handle.writable) return {};
  // The ranks of a node share its cache: once all have arrived, it holds what each of them wrote.
  bool wrote = false;
  {
    const HandleLock lock(handle);
    wrote = handle.cached->wrote_since_hand_over() ||
            (handle.guests != nullptr && handle.guests->has_written());
  }
  if (!any_rank(handle.own.comm, wrote)) return {};
  Status status;
  if (handle.nodes->leads()) {
    const HandleLock lock(handle);
    status = handle.cached->hand_over(handle.nodes->domains(*handle.cached, handle.file),
                                      handle.nodes->exchange());
  }
  status = agree_status(handle.own.comm, status);
  const HandleLock lock(handle);
  if (status.ok()) handle.cached->note_handed_over();
  // Only now, when all nodes have stored what they had, does storage have it all.
  handle.cached->drop_clean();
  // Other nodes have written, too: a recovery must not take that for a stranger's change.
  if (handle.nodes->leads()) handle.cached->note_own_change();
  return status;
}

}  // namespace forebay::mpiio
