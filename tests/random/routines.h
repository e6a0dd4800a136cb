// The data access routines of MPI-IO (MPI 4.1, table 14.1) as one table: what each does, for the
// planner and the generator, and how to call it, for the executor.
#pragma once

#include <mpi.h>

#include <span>
#include <string_view>

namespace random_io {

enum class Position { explicit_offset, individual_pointer, shared_pointer };
enum class Completion { blocking, nonblocking, split };

struct Call {
  MPI_File file;
  MPI_Offset offset;
  void* buffer;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Status* status;    // blocking, and the end of a split call
  MPI_Request* request;  // nonblocking
  bool large;            // the _c routine, if the library has it
};

struct Routine {
  const char* name;  // without MPI_File_
  bool write;
  Position position;
  bool collective;
  bool ordered;
  Completion completion;
  int (*call)(const Call&);
  int (*end)(const Call&);  // split routines only
};

std::span<const Routine> routines();
const Routine* find_routine(std::string_view name);  // nullptr: not a data access

}  // namespace random_io
