// A call of a data access routine (MPI 4.1, section 14.4, table 14.1), as the user made it.
#pragma once

#include <cstdint>

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

enum class Operation : uint8_t { read, write };

// Which position a routine uses: the offset given, the individual file pointer, the shared one, or
// the shared one in rank order.
enum class Positioning : uint8_t { given, individual, shared, ordered };

struct Call {
  Operation operation = Operation::read;
  Positioning positioning = Positioning::given;
  bool collective = false;  // all ranks of the handle make this call
  bool blocking = true;     // if collective, ranks may wait for one another
  MPI_Offset offset = 0;    // in etypes; used if the position is given
  void* buffer = nullptr;   // not written to by Operation::write
  int64_t count = 0;
  MPI_Datatype type{};
  bool placed = false;  // ordered: its place is known to the ranks (begin_placing)
};

}  // namespace forebay::mpiio
