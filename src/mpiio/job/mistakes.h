// What a user got wrong in options is said on standard error, a line for each mistake.
//
// A job says it once. Mistakes of the environment are said by the first rank of MPI_COMM_WORLD, in
// MPI_Init; those in an MPI_Info by the first rank of the file, which hears of the others' where
// the ranks agree anyway, at the open and in MPI_File_set_view. In MPI_File_set_info they are said
// by any rank where all are on one node, elsewhere at the close at the latest. Processes of a node
// know what the others have said: files that ranks open apart say it once a node.
#pragma once

#include <string>
#include <vector>

#include "mpiio/library/mpi_library.h"
#include "options/options.h"

namespace forebay::mpiio {

struct ToldMistake {
  std::string file;  // whose hint it was; "": a variable of the environment
  std::string line;  // the same for every file
};
using Mistakes = std::vector<ToldMistake>;

// Says what this process knows of, where it has not been said yet.
void tell(const Mistakes& mistakes);

// Says what the ranks know of together, and forgets it. Called by all ranks of `comm`.
void tell_together(MPI_Comm comm, Mistakes& mistakes);

// The environment's mistakes, once, where this rank speaks for the job.
void tell_of_environment();

// Those of this rank's environment, for the first file that all ranks of the job open together: the
// rank that speaks for the job may not have them.
Mistakes to_tell_of_environment(MPI_Comm comm);

}  // namespace forebay::mpiio
