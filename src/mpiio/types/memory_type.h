// The types of users' buffers, decoded once. Predefined types stand in a lock-free table; a derived
// type carries its decoded form as an attribute, which the MPI library drops together with the
// type, so that a handle used again for another type is never mistaken.
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

// The decoded form of `type`; null when it is no committed type (MPI_DATATYPE_NULL included) or
// cannot be decoded. Valid until the type is freed, or until this thread's next call. `comm` must
// return errors.
const MemoryType* memory_type(MPI_Comm comm, MPI_Datatype type);

// True for a committed type; asks the MPI library without raising an error handler.
bool committed(MPI_Comm comm, MPI_Datatype type);

// True for predefined types, whose handles never change meaning.
bool predefined(MPI_Datatype type);

}  // namespace forebay::mpiio
