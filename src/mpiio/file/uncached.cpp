#include "mpiio/file/uncached.h"

#include <iterator>

namespace forebay::mpiio {
namespace {

constexpr UncachedReason uncached_reasons[] = {
    {"no", "", true},
    {"not_opened", "the MPI library did not open it on every rank", true},
    {"disabled", "enable=false leaves it to the MPI library", true},
    {"step_aside_always", "step_aside=always leaves it to the MPI library", true},
    {"sequential", "MPI_MODE_SEQUENTIAL leaves its positions to the MPI library", false},
    {"other_rights", "the program has other rights than its user", true},
    {"no_memory", "a rank was refused memory", false},
    {"options_differ", "its ranks were given different values of scope, consistency or domain",
     false},
    {"several_nodes",
     "ranks of several nodes opened it, which only scope=job or consistency=mpi caches (with "
     "storage=mpi only the latter)",
     false},
    {"no_owners",
     "its nodes have no agents that reach each other (a firewall, committer=false, too few file "
     "descriptors), or others had it open",
     false},
    {"several_worlds", "its ranks are of programs that were spawned or connected", false},
    {"several_jobs", "its ranks began as different jobs and had files open already", false},
    {"no_path", "it is not a regular file with a path of its own", false},
    {"refused", "a rank was refused the file or a place for its cache", true},
    {"no_shared_memory", "a rank was refused shared memory", true},
    {"separate_memory", "ranks of one node do not see the same shared memory", false},
    {"too_many_files", "too many files were open", false},
    {"no_communicator", "the MPI library gave no communicator for it", false},
    {"foreign_view", "its view was one that the MPI library alone can walk", false},
    {"atomic_mode", "atomic mode where its ranks share no cache", false},
    {"shared_pointer", "the shared file pointer of ranks on several nodes", false},
};
static_assert(std::size(uncached_reasons) == uncached_count);

}  // namespace

const UncachedReason& reason_of(Uncached why) {
  return uncached_reasons[static_cast<std::size_t>(why)];
}

constinit FileMap<UncachedHandle> uncached_handles;

}  // namespace forebay::mpiio
