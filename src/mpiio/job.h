// What makes processes belong together: the node they run on and the secret of their job, by which
// they find one another's arena and nobody else does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpiio/mpi_library.h"
#include "options/options.h"

namespace forebay::mpiio {

// The process's options, read from the environment at first use; `job` holds the secret once known.
const Options& process_options();

// What was wrong in the environment that they were read from, a line each.
const std::vector<std::string>& environment_mistakes();

// Whether this is the rank of the job that speaks to the user: the first of MPI_COMM_WORLD or,
// where there is none, the one that the launcher calls so.
bool speaks_for_job();

// Whether the launcher calls this process the first on its node, or says nothing of that.
bool first_on_node();

// Equal for processes of one node, and hardly otherwise (FOREBAY_NODE names another, for tests).
int64_t node_identity();

// Equal for processes with the same secret; 0 while there is none.
int64_t job_identity();

// Gives every rank that has no secret yet that of rank `root`, which makes one if need be. Called
// by all ranks of `comm`.
void share_job_secret(MPI_Comm comm, int root);

// The process has other rights than who started it (setuid): nothing of its environment is obeyed,
// and nothing cached. Says so once.
bool other_rights();

// Leaves the mark that MPI-IO went through Forebay, for `forebay run` to find (FOREBAY_RUN_DIR).
void mark_used();

// FNV-1a.
int64_t hash_text(const std::string& text);

}  // namespace forebay::mpiio
