// Atomic mode (MPI 4.1, section 14.6.1): accesses through handles of one collective open are
// sequentially consistent. If all ranks share an arena, the file stays cached and accesses take
// turns; otherwise the MPI library carries the accesses out.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

int set_atomicity(Handle& handle, int flag);
int get_atomicity(Handle& handle, int* flag);

// While this object lives, no other rank of an atomic handle is inside an access. In nonatomic mode
// it does nothing.
class AtomicAccess {
 public:
  explicit AtomicAccess(Handle& handle) : handle_(handle), entered_(handle.atomic) {
    if (entered_) handle_.cached->lock_access();
  }
  ~AtomicAccess() {
    if (entered_) handle_.cached->unlock_access();
  }
  AtomicAccess(const AtomicAccess&) = delete;
  AtomicAccess& operator=(const AtomicAccess&) = delete;

 private:
  Handle& handle_;
  bool entered_;
};

}  // namespace forebay::mpiio
