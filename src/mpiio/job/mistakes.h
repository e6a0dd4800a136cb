// Tells the user of mistakes in options, on standard error, one line for each.
//
// A job tells a mistake once. Mistakes in the environment are told by the first rank of
// MPI_COMM_WORLD, in MPI_Init. Mistakes in an MPI_Info are told by the first rank of the file: the
// ranks send it theirs where they agree anyway, at the open and in MPI_File_set_view. Mistakes in
// MPI_File_set_info are told by any rank if all are on one node, otherwise at the close at the
// latest. Processes of a node know what others have told: ranks that open files apart tell a
// mistake once on a node.
#pragma once

#include <string>
#include <vector>

#include "mpiio/library/mpi_library.h"
#include "options/options.h"

namespace forebay::mpiio {

struct ToldMistake {
  std::string file;  // the file that was given the hint; "": a variable of the environment
  std::string line;  // the same for every file
};
using Mistakes = std::vector<ToldMistake>;

// Tells those of the mistakes that have not been told yet.
void tell(const Mistakes& mistakes);

// Tells the mistakes of all ranks, on rank 0, and clears `mistakes`. Called by all ranks of `comm`.
void tell_together(MPI_Comm comm, Mistakes& mistakes);

// Tells the environment's mistakes, once, if this rank speaks for the job.
void tell_of_environment();

// The mistakes of this rank's environment, to be told at the first open by all ranks of the job:
// the rank that speaks for the job may have another environment. Empty at other opens.
Mistakes to_tell_of_environment(MPI_Comm comm);

}  // namespace forebay::mpiio
