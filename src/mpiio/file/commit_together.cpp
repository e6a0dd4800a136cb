#include "mpiio/file/commit_together.h"

#include "mpiio/file/arrivals.h"
#include "mpiio/file/hand_over.h"
#include "mpiio/file/job_owners.h"
#include "mpiio/library/agreement.h"

namespace forebay::mpiio {

Status commit(Handle& handle) {
  const HandleLock lock(handle);
  const Status met = meet_owners(handle);
  if (!met.ok()) return met;
  if (handle.has_other_owners()) return handle.job_file->commit_everywhere(false);
  return handle.guests != nullptr ? handle.guests->commit_everywhere(false)
                                  : handle.cached->commit();
}

Status make_coherent(Handle& handle) {
  const HandleLock lock(handle);
  const Status met = meet_owners(handle);
  if (!met.ok()) return met;
  if (handle.has_other_owners()) return handle.job_file->commit_everywhere(true);
  if (handle.guests != nullptr) return handle.guests->commit_everywhere(true);
  const Status status = handle.cached->commit();
  handle.cached->drop_clean();
  return status;
}

namespace {

// Of a file whose owners all have ranks here: each node commits its own, which one of its ranks
// shows to the others. After a sync's commit all ranks flush, which shows it, too.
Status commit_own_parts(Handle& handle, CommitFor purpose) {
  const MPI_Comm comm = handle.own.comm;
  Status mine;
  {
    const HandleLock lock(handle);
    mine = handle.cached->commit_unseen();
  }
  const Status status = agree_status(comm, mine);
  if (!status.ok() || !handle.close_to_open || purpose == CommitFor::sync) return status;
  if (handle.first_on_node) {
    const HandleLock lock(handle);
    mine = handle.cached->show_other_nodes();
  }
  return agree_status(comm, mine);
}

// Whether the dirty bytes are at most as many as go to storage in one request.
bool is_little(const Handle& handle) {
  return handle.cached->dirty_bytes() <= handle.cached->options().commit_size_bytes;
}

Status commit_for(Handle& handle, CommitFor purpose) {
  if (purpose == CommitFor::sync) return commit(handle);
  const HandleLock lock(handle);
  const Status met = meet_owners(handle);
  if (!met.ok()) return met;
  return handle.has_other_owners() ? handle.job_file->commit_everywhere(false)
                                   : handle.cached->commit_own();
}

// What the ranks tell each other in the agreement.
struct Arrival {
  int64_t failure;  // Code of the last rank's commit
  int64_t much;     // 1: the last rank has left the commit to all ranks
  int64_t left;     // 1: the commit is left to others that have the file open
};

// If there is little to commit, the last rank to arrive commits it alone, and the others wait for
// the result. If there is much, all ranks commit a share.
Status commit_in_shared_arena(Handle& handle, CommitFor purpose) {
  const bool last = arrive(handle) % handle.ranks == 0;
  const bool left =
      last && purpose == CommitFor::close && handle.cached->leaves_commit_to_others(handle.ranks);
  const bool alone = last && !left && is_little(handle);
  const Status mine = alone ? commit_for(handle, purpose) : Status::success();
  const Arrival agreed = agree_max(
      handle.own.comm,
      Arrival{static_cast<int64_t>(mine.code), int64_t{last && !left && !alone}, int64_t{left}});
  if (agreed.left != 0) return {};
  if (agreed.much != 0) return agree_status(handle.own.comm, commit_for(handle, purpose));
  const Status agreed_status{static_cast<Code>(agreed.failure), 0, -1};
  if (agreed_status.ok()) {
    handle.cached->note_stored();
    return agreed_status;
  }
  if (!mine.ok()) return mine;
  // The other ranks know only the code. They try to commit, too, so that they learn where and why
  // it fails.
  const Status met = commit_for(handle, purpose);
  return met.ok() ? agreed_status : met;
}

}  // namespace

Status commit_together(Handle& handle, CommitFor purpose) {
  if (handle.shared.arrivals != nullptr && handle.all_ranks_share_arena())
    return commit_in_shared_arena(handle, purpose);
  if (handle.nodes != nullptr) return hand_over(handle);
  wait_for_all(handle.own.comm);
  if (handle.job_file != nullptr && !handle.has_other_owners())
    return commit_own_parts(handle, purpose);
  if (handle.job_file != nullptr) return agree_status(handle.own.comm, commit(handle));
  const bool left = purpose == CommitFor::close && handle.cached->leaves_commit_to_others(1);
  return agree_status(handle.own.comm, left ? Status::success() : commit_for(handle, purpose));
}

}  // namespace forebay::mpiio
