#include "mpiio/types/envelope.h"

namespace forebay::mpiio {

bool get_envelope(MPI_Datatype type, Envelope& envelope) {
#if defined(FOREBAY_LARGE_COUNT)
  // The int form refuses types made with large counts.
  if (mpi().Type_get_envelope_c != nullptr)
    return mpi().Type_get_envelope_c(type, &envelope.integers, &envelope.addresses,
                                     &envelope.large_counts, &envelope.types,
                                     &envelope.combiner) == MPI_SUCCESS;
#endif
  int integers = 0, addresses = 0, types = 0;
  const int error =
      mpi().Type_get_envelope(type, &integers, &addresses, &types, &envelope.combiner);
  envelope.integers = integers;
  envelope.addresses = addresses;
  envelope.types = types;
  return error == MPI_SUCCESS;
}

}  // namespace forebay::mpiio
