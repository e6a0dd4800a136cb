// How a data type was made (MPI 4.1, section 5.1.13): its combiner and how many arguments of each
// kind the constructor had.
#pragma once

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

// Combiners that not every header names. In the ABIs of MPICH and Open MPI, each has the value
// after a named one. The standard ABI dropped the integer forms of MPI-1's Fortran constructors.
#if defined(FOREBAY_ABI_MPIABI)
constexpr int value_index = MPI_COMBINER_VALUE_INDEX;
constexpr int hvector_integer = -1;
constexpr int hindexed_integer = -2;
constexpr int struct_integer = -3;
#else
constexpr int value_index = MPI_COMBINER_HINDEXED_BLOCK + 1;
constexpr int hvector_integer = MPI_COMBINER_VECTOR + 1;
constexpr int hindexed_integer = MPI_COMBINER_INDEXED + 1;
constexpr int struct_integer = MPI_COMBINER_INDEXED_BLOCK + 1;
#endif

struct Envelope {
  int combiner = 0;
  MPI_Count integers = 0, addresses = 0, large_counts = 0, types = 0;

  // True: the type's handle must not be freed.
  bool owned_by_library() const {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == value_index;
  }
};

// False: the library returned an error.
bool get_envelope(MPI_Datatype type, Envelope& envelope);

}  // namespace forebay::mpiio
