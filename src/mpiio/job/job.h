// What makes processes belong together: the node they run on and the name of their job, by which
// they find one another's arena and nobody else does.
//
// `forebay run` around the launcher names the job (FOREBAY_JOB). Elsewhere processes begin with the
// name of their launch on their node, and ranks that come with different names take one of them
// when they first open a file together. Nothing is asked of ranks that open no file: they may run
// without Forebay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpiio/library/agreement.h"
#include "mpiio/library/mpi_library.h"
#include "options/options.h"

namespace forebay::runtime {
class Node;
}

namespace forebay::mpiio {

// The process's options, read from the environment at first use. `job` may change, but not while a
// JobUser lives.
const Options& process_options();

// This process's node and the cache there, joined at first use; nullptr (and a Status) when it
// cannot be had.
runtime::Node* this_node(Status* status);

// What was wrong in the environment that they were read from, a line each.
const std::vector<std::string>& environment_mistakes();

// Whether this is the rank of the job that speaks to the user: the first of MPI_COMM_WORLD or,
// where there is none, the one that the launcher calls so.
bool speaks_for_job();

// Whether the launcher calls this process the first on its node, or says nothing of that.
bool first_on_node();

// Equal for processes of one node, and hardly otherwise (FOREBAY_NODE names another, for tests).
int64_t node_identity();

// Equal for processes of the same job.
int64_t job_identity();

// Something that depends on this process's job: an open file, or an open under way. Only an open
// that no other user lives beside may change the job.
class JobUser {
 public:
  JobUser();
  ~JobUser();
  JobUser(const JobUser&) = delete;
  JobUser& operator=(const JobUser&) = delete;
};

// What a rank says of its job, for agree_max.
struct JobProposal {
  Compared job;
  Compared kept;      // the job of a rank that cannot leave it
  int64_t claim = 0;  // that its job be taken: the stronger, the larger; with the rank's number
};
// That of rank number `rank` of a communicator, in an open.
JobProposal job_proposal(int rank);

// What follows from what the ranks agreed on, the same on all ranks.
struct JobTerms {
  bool agree = false;  // all have one job
  int giver = -1;      // else the rank whose job all are to take; -1: several cannot leave theirs
};
JobTerms job_terms(const JobProposal& agreed);

// Has every rank of `comm` take the job of rank `giver`. A rank that cannot, since something of its
// own is cached by now, keeps its job. Called by all ranks, in an open.
void take_job_of(MPI_Comm comm, int giver);

// The process has other rights than who started it (setuid): nothing of its environment is obeyed,
// and nothing cached. Says so once.
bool other_rights();

// FNV-1a.
int64_t hash_text(const std::string& text);

}  // namespace forebay::mpiio
