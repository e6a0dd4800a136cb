#include "mpiio/file/hand_over.h"

#include "mpiio/library/agreement.h"

namespace forebay::mpiio {

Status hand_over(Handle& handle) {
  if (handle.job_file != nullptr && !handle.one_node) {
    // What was written is with its owners. A rank that comes first must not go on before the others
    // have written what is theirs.
    wait_for_all(handle.own.comm);
    return {};
  }
  if (handle.nodes == nullptr || !handle.writable) return {};
  // The ranks of a node share its cache: once all have arrived, it holds what each of them wrote.
  bool wrote = false;
  {
    const HandleLock lock(handle);
    wrote = handle.cached->wrote_since_hand_over();
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
