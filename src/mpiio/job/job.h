// Which processes belong together: those on one node with the same job name. By the name they, and
// only they, find their shared arena.
//
// `forebay run` around the launcher names the job (FOREBAY_JOB). Without it, a process begins with
// the name that its launcher gives the launch (Slurm, PMIx) or, if there is none, with a name of
// the launch on its node; ranks with different names take one of these when they first open a file
// together. Nothing is asked of ranks that open no file: they may run without Forebay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpiio/library/agreement.h"
#include "mpiio/library/mpi_library.h"
#include "options/options.h"

namespace forebay::runtime {
class NodeMember;
}

namespace forebay::mpiio {

// The process's options, read from the environment at first use. `job` may change, but not while a
// JobUser lives.
const Options& process_options();

// This process's node, joined at first use; nullptr (and a Status) if that fails.
runtime::NodeMember* this_node(Status* status);

// Joins the node while the program starts, so that its first open need not; nothing where the
// options leave all files to the library.
void join_node_early();

// Mistakes in the environment from which the options were read, one line each.
const std::vector<std::string>& environment_mistakes();

// Whether this rank speaks to the user for the job. It is the first rank of MPI_COMM_WORLD; while
// MPI is not running, the process that the launcher calls rank 0.
bool speaks_for_job();

// Whether the launcher calls this process the first on its node, or says nothing about it.
bool first_on_node();

// A number that is equal for processes on one node, and hardly ever for others. (For tests,
// FOREBAY_NODE names the node.)
int64_t node_identity();

// The name of the machine since it was started, whatever node it is told to be; "": it has none.
std::string machine_name();

// A number that is equal for processes of the same job.
int64_t job_identity();

// A user of this process's job: an open file, or an open under way. An open may change the job only
// while there is no other user.
class JobUser {
 public:
  JobUser();
  ~JobUser();
  JobUser(const JobUser&) = delete;
  JobUser& operator=(const JobUser&) = delete;
};

// What a rank proposes about the job, for agree_max.
struct JobProposal {
  Compared job;
  Compared kept;      // the job of a rank that cannot leave it
  int64_t claim = 0;  // how strongly it claims that its job be taken, with the rank's number
};
// This rank's proposal, in an open; `rank` is its number in the communicator.
JobProposal job_proposal(int rank);

// The consequence of the agreed proposal, the same on all ranks.
struct JobTerms {
  bool agree = false;  // all ranks have the same job
  int giver = -1;      // else the rank whose job all take; -1: several ranks cannot change theirs
};
JobTerms job_terms(const JobProposal& agreed);

// Makes every rank of `comm` take the job of rank `giver`. A rank that has cached something in the
// meantime keeps its job. Called by all ranks, in an open.
void take_job_of(MPI_Comm comm, int giver);

// Whether the process has other rights than the user who started it (setuid). Then its environment
// is ignored and nothing is cached; the first call tells the user.
bool other_rights();

// FNV-1a.
int64_t hash_text(const std::string& text);

}  // namespace forebay::mpiio
