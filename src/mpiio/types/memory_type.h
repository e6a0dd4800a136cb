// The types of users' buffers, decoded once. Predefined types are kept in a lock-free table. A
// derived type has its decoded form as an attribute, which the MPI library deletes with the type:
// so a handle that is used again for another type is never mistaken.
#pragma once

#include <cstdint>

#include "extent/layout.h"
#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

struct MemoryType {
  int64_t size = 0;    // data bytes of one element
  int64_t extent = 0;  // from one element to the next
  int64_t first = 0;   // displacement of the first data byte, if dense
  bool dense = true;   // elements form one run, in order
  LayoutRef layout;    // one element
};

// The decoded form of `type`; null if it is not a committed type (or MPI_DATATYPE_NULL), or cannot
// be decoded. Valid until the type is freed, or until this thread's next call. `comm` must return
// errors.
const MemoryType* memory_type(MPI_Comm comm, MPI_Datatype type);

// Whether the type is committed. The MPI library is asked by a call on `comm`, which must return
// errors.
bool committed(MPI_Comm comm, MPI_Datatype type);

// Whether the type is predefined: such a handle never changes its meaning.
bool predefined(MPI_Datatype type);

}  // namespace forebay::mpiio
