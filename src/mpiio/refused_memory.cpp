#include "mpiio/refused_memory.h"

#include <cstdio>
#include <cstdlib>

#include "mpiio/lifecycle.h"

namespace forebay::mpiio {

void end_for_want_of_memory() {
  std::fprintf(stderr,
               "forebay: memory was refused in a call that other ranks may be waiting in: the "
               "program ends\n");
  abort(mpi().comm_world, MPI_ERR_NO_MEM);
  std::abort();
}

}  // namespace forebay::mpiio
