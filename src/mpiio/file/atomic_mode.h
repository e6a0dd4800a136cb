// Atomic mode (MPI 4.1, section 14.6.1): accesses through handles of one collective open are
// sequentially consistent. If all ranks share an arena, the file stays cached and accesses take
// turns. If nodes own the bytes, an agent keeps the ranges that accesses hold. Otherwise the MPI
// library carries the accesses out.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

int set_atomicity(Handle& handle, int flag);
int get_atomicity(Handle& handle, int* flag);

// While this object lives, no other rank of an atomic handle is inside an access that meets
// `range`, if one of both writes. In nonatomic mode it does nothing. Accesses of one node's ranks
// take turns.
class AtomicAccess {
 public:
  AtomicAccess(Handle& handle, const Extent& range, bool writes);
  ~AtomicAccess();
  AtomicAccess(const AtomicAccess&) = delete;
  AtomicAccess& operator=(const AtomicAccess&) = delete;

  // A failure: the agent that keeps the ranges does not answer.
  const Status& status() const { return status_; }

 private:
  Handle& handle_;
  bool entered_ = false;
  Status status_;
};

}  // namespace forebay::mpiio
