#include "mpiio/file/job_directory.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "mpiio/file/job_owners.h"
#include "mpiio/file/place.h"
#include "mpiio/job/job.h"
#include "mpiio/job/told_lines.h"
#include "mpiio/library/agreement.h"
#include "runtime/cache/cached_file.h"
#include "runtime/node/node_member.h"

namespace forebay::mpiio {
namespace {

std::atomic<bool> sought{false}, there_is_one{false}, lost{false};

// Set before there_is_one is, and kept to the end of the process.
std::shared_ptr<agent::Line>& line() {
  static auto& line = *new std::shared_ptr<agent::Line>;
  return line;
}

bool every_rank_has_forebay() {
  const char* const said = std::getenv("FOREBAY_EVERY_RANK");
  return said != nullptr && *said != '\0';
}

// What a rank tells the others, for agree_max.
struct Wish {
  Compared node;
  Compared job;
  int64_t unwilling = 0;
};

bool wants_directory() {
  const Options& options = process_options();
  return options.enable && options.step_aside != StepAside::always && options.committer &&
         has_owners(options);
}

}  // namespace

namespace {

void tell_of_tcp(const std::string& problem) {
  const std::string line = "forebay: transport=libfabric: " + problem +
                           ": ranks of this node reach agents of other nodes over TCP\n";
  if (is_new_on_node(line)) std::fputs(line.c_str(), stderr);
}

// What the lines of this process have to know of this node's agent.
void introduce(const agent::Address& own, const char* problem) {
  static std::once_flag once;
  std::call_once(once, [&] {
    if (process_options().transport == Transport::libfabric && own.fabric.bytes == 0)
      tell_of_tcp(problem);
    agent::Lines::of_process().know_own(
        own, [] { tell_of_tcp("an agent of another node does not answer through it"); });
  });
}

}  // namespace

agent::Key own_key() {
  Status status;
  runtime::NodeMember* const node = this_node(&status);
  agent::Key key{};
  if (node != nullptr)
    std::copy(std::begin(node->registry().agent_key), std::end(node->registry().agent_key),
              key.begin());
  return key;
}

agent::Address own_agent() {
  Status status;
  runtime::NodeMember* const node = this_node(&status);
  agent::Address agent;
  if (node == nullptr || !node->call_agent()) return agent;
  static const agent::Address here = agent::own_address();
  agent = here;
  agent.port = node->registry().agent_port.load();
  agent.key = own_key();
  static_assert(sizeof agent.fabric == sizeof node->registry().agent_fabric);
  std::memcpy(&agent.fabric, node->registry().agent_fabric, sizeof agent.fabric);
  introduce(agent, node->registry().agent_fabric_problem);
  return agent;
}

void find_directory_early() {
  int ranks = 1;
  mpi().Comm_size(mpi().comm_world, &ranks);
  if (ranks == 1 || !every_rank_has_forebay() || other_rights()) return;
  ranks_share_cores.store(any_rank(
      mpi().comm_world, process_options().local_processes > sysconf(_SC_NPROCESSORS_ONLN)));
  (void)find_directory(mpi().comm_world);
}

bool find_directory(MPI_Comm everybody) {
  sought.store(true);
  const Wish agreed = agree_max(everybody, Wish{Compared(node_identity()), Compared(job_identity()),
                                                int64_t{!wants_directory()}});
  if (agreed.node.same() || !agreed.job.same() || agreed.unwilling != 0) return false;
  int rank = 0;
  mpi().Comm_rank(everybody, &rank);
  agent::Address keeper;
  // Also a rank whose first question is to the keeper asks by way of its own agent.
  if (rank == 0 || process_options().transport == Transport::libfabric)
    (void)within_memory([&] { keeper = own_agent(); });
  static_assert(sizeof keeper % sizeof(int64_t) == 0);
  mpi().Bcast(&keeper, sizeof keeper / sizeof(int64_t), mpi().int64, 0, everybody);
  if (keeper.port <= 0) return false;
  // Two threads may have opened the first two files at once.
  static std::mutex finding;
  const std::lock_guard<std::mutex> guard(finding);
  if (there_is_one.load()) return true;
  (void)within_memory([&] { line() = agent::Lines::of_process().to(keeper); });
  there_is_one.store(true);
  return true;
}

bool directory_unsought() { return !sought.load(); }

bool job_has_directory() { return there_is_one.load(); }

std::shared_ptr<agent::Line> line_to_directory() { return lost.load() ? nullptr : line(); }

void lose_directory() {
  if (lost.exchange(true)) return;
  Status status;
  runtime::NodeMember* const node = this_node(&status);
  constexpr uint64_t notice = 0x646972'6c6f7374;
  if (node == nullptr || !runtime::first_notice(*node, notice)) return;
  std::fputs(
      "forebay: this node cannot reach the job's directory of open files (a firewall?): what ranks "
      "of other nodes write to a file that single ranks open is seen after a sync only\n",
      stderr);
}

std::optional<agent::FileKey> key_of(const runtime::CachedFile& file) {
  const runtime::FileIdentity& identity = file.identity();
  const std::optional<uint64_t> place = place_of(file.path(), identity.device);
  if (!place) return std::nullopt;
  return agent::FileKey{*place, identity.inode, identity.birth_ns};
}

}  // namespace forebay::mpiio
