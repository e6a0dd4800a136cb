#include "mpiio/file/open_facts.h"

#include <dirent.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "mpiio/file/job_directory.h"
#include "mpiio/job/job.h"
#include "mpiio/library/agreement.h"
#include "runtime/cache/cached_file.h"

namespace forebay::mpiio {
namespace {

constexpr int words_a_node = sizeof(NodeFacts) / sizeof(int64_t);
static_assert(std::has_unique_object_representations_v<NodeFacts>);

// What a rank tells of itself, for agree_max.
struct RankFacts {
  int64_t failed = 0;  // 1: it has no memory for the others' facts
  int64_t no_agent = 0;
  Compared inode;
  Compared owners;             // that the file has on its node
  int64_t teller = INT64_MIN;  // ~rank, if it has owners there
  Compared session;
  Compared kept;
  int64_t minus_callers = 0;  // ranks that its node's agent can have connections with, negated
  int64_t minus_lines = 0;    // agents that it can have connections with, negated
  int64_t unsought = 0;       // 1: it has not looked for the job's directory yet
  int64_t no_directory = 0;   // 1: it knows of none
};

// The descriptors that the process has open, as far as they count against `limit`.
int64_t open_descriptors(int64_t limit) {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int64_t open = 0;
  while (const dirent* const entry = readdir(folder)) {
    const char* const name = entry->d_name;
    open += name[0] != '.' && std::strtoll(name, nullptr, 10) < limit;
  }
  closedir(folder);
  return open;
}

// Connections are descriptors: a rank takes at most a quarter of those that its program may have
// open, and half of those that it has left; an agent, which asks for as many as the system allows,
// leaves some for files. The option cb_nodes may ask for fewer.
void count_connections(const Options& options, RankFacts* facts) {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return;
  constexpr rlim_t plenty = 1 << 20;
  constexpr int64_t other_files = 16;
  const auto most = static_cast<int64_t>(std::min(descriptors.rlim_max, plenty));
  facts->minus_callers = -std::max<int64_t>(most - most / 4 - other_files, 0);
  const auto limit = static_cast<int64_t>(std::min(descriptors.rlim_cur, plenty));
  const int64_t left = std::max<int64_t>(limit - open_descriptors(limit), 0);
  int64_t lines = std::min(limit / 4, left / 2);
  if (options.cb_nodes > 0) lines = std::min(lines, options.cb_nodes);
  facts->minus_lines = -lines;
}

RankFacts facts_of_rank(const Handle& handle, NodeFacts* node) {
  const runtime::CachedFile& file = *handle.cached;
  RankFacts mine;
  node->page_size = file.options().page_size_bytes;
  node->close_to_open = int64_t{file.storage().close_to_open()};
  mine.inode = Compared(static_cast<int64_t>(file.identity().inode));
  const Status found = within_memory([&] {
    node->agent = own_agent();
    node->stripes = stripes_of(file, handle.file);
  });
  mine.no_agent = int64_t{!found.ok() || node->agent.port <= 0};
  if (const uint64_t owners = file.owners(); owners != 0) {
    mine.owners = Compared(static_cast<int64_t>(owners));
    mine.teller = ~int64_t{handle.rank};
  }
  mine.session = Compared(file.kept_session());
  mine.kept = Compared(static_cast<int64_t>(file.kept_owners()));
  count_connections(file.options(), &mine);
  mine.unsought = int64_t{directory_unsought()};
  mine.no_directory = int64_t{!job_has_directory()};
  return mine;
}

// Fills in which ranks are on which node, from the nodes' identities.
void find_nodes(const std::vector<int64_t>& identities, int rank, OpenFacts* facts) {
  std::unordered_map<int64_t, uint32_t> number;
  facts->node_of_rank.reserve(identities.size());
  for (const int64_t identity : identities)
    facts->node_of_rank.push_back(
        number.try_emplace(identity, static_cast<uint32_t>(number.size())).first->second);
  facts->nodes.resize(number.size());
  const std::vector<uint32_t>& nodes = facts->node_of_rank;
  const uint32_t here = nodes[static_cast<std::size_t>(rank)];
  facts->ranks_here = std::ranges::count(nodes, here);
  facts->first = std::ranges::find(nodes, here) - nodes.begin() == rank;
}

}  // namespace

std::optional<OpenFacts> gather_facts(const Handle& handle) {
  const MPI_Comm comm = handle.own.comm;
  const auto ranks = static_cast<std::size_t>(handle.ranks);
  std::vector<int64_t> identities;
  std::vector<int> counts, starts;
  const Status had_memory = within_memory([&] {
    identities.resize(ranks);
    counts.resize(ranks);
    starts.resize(ranks);
  });
  if (any_rank(comm, !had_memory.ok())) return std::nullopt;
  const int64_t here = node_identity();
  mpi().Allgather(&here, 1, mpi().int64, identities.data(), 1, mpi().int64, comm);
  OpenFacts facts;
  const Status found = within_memory([&] { find_nodes(identities, handle.rank, &facts); });
  NodeFacts mine;
  RankFacts told = facts_of_rank(handle, &mine);
  told.failed = int64_t{!found.ok()};
  const int64_t session = handle.cached->kept_session();
  told = agree_max(comm, told);
  if (told.failed != 0) return std::nullopt;
  // That all ranks have come here shows that every rank of the job runs with Forebay.
  facts.directory =
      told.unsought != 0 && has_all_ranks(comm) ? find_directory(comm) : told.no_directory == 0;
  facts.fits = told.no_agent == 0 && told.inode.same() && -told.minus_callers >= handle.ranks;
  facts.lines = -told.minus_lines;
  if (told.teller != INT64_MIN) facts.teller = static_cast<int>(~told.teller);
  facts.same = facts.teller < 0 || told.owners.same();
  facts.one_session = told.session.same() && session != 0;
  facts.kept = told.kept.same() ? handle.cached->kept_owners() : 0;
  if (!facts.fits) return facts;
  int start = 0;
  uint32_t nodes = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const bool first = facts.node_of_rank[rank] == nodes;
    nodes += first ? 1 : 0;
    counts[rank] = first ? words_a_node : 0;
    starts[rank] = start;
    start += counts[rank];
  }
  mpi().Allgatherv(&mine, facts.first ? words_a_node : 0, mpi().int64, facts.nodes.data(),
                   counts.data(), starts.data(), mpi().int64, comm);
  return facts;
}

}  // namespace forebay::mpiio
