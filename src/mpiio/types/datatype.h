// MPI data types as Forebay uses them: where their bytes lie, and how copies are spaced.
// Decoded through MPI_Type_get_envelope and MPI_Type_get_contents alone (MPI 4.1, section 5.1.13).
#pragma once

#include <cstdint>
#include <optional>

#include "extent/layout.h"
#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

struct Datatype {
  LayoutRef layout;          // one copy; never null
  int64_t extent_bytes = 0;  // from one copy to the next, as the library says
  int64_t lower_bound = 0;   // where a copy's extent begins, as the library says
  bool contiguous = false;   // any number of copies is one run of bytes, in order

  int64_t size() const { return layout->size(); }  // data bytes of one copy
  // Endless copies of the type; displacement 0 of the first is at `origin`.
  Tiling tiled(int64_t origin) const { return {layout, origin, extent_bytes}; }
};

// The type's decoded form. It does not depend on the handle: the type may be freed. Nothing if
// `type` is MPI_DATATYPE_NULL, reaches beyond 64 bits, is nested absurdly deep or has a combiner
// that this MPI's header does not know, or if memory is refused: accesses with such a type go to
// the MPI library.
std::optional<Datatype> decode(MPI_Datatype type);

}  // namespace forebay::mpiio
