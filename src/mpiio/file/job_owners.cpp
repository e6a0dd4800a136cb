#include "mpiio/file/job_owners.h"

#include <dirent.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/connection.h"
#include "agent/file_terms.h"
#include "agent/job_file.h"
#include "agent/owners.h"
#include "mpiio/file/file_name.h"
#include "mpiio/file/kept_pages.h"
#include "mpiio/file/ranks_by_node.h"
#include "mpiio/file/stripes.h"
#include "mpiio/job/job.h"
#include "mpiio/library/agreement.h"
#include "runtime/node/file_identity.h"
#include "runtime/node/node_member.h"

namespace forebay::mpiio {
namespace {

using agent::Address;
using agent::Connection;
using agent::Key;
using agent::Owners;
using runtime::OpenMode;

// What a rank tells the others of its node and of the file there. Integers of 64 bits only.
struct NodeFacts {
  int64_t node = 0;
  int64_t page_size = 0;
  uint64_t inode = 0;
  uint64_t owners = 0;  // that the file has on this node; 0: none
  int64_t session = 0;  // CachedFile::kept_session()
  int64_t callers = 0;  // ranks that the node's agent can have connections with
  int64_t lines = 0;    // agents that this rank can have connections with
  Stripes stripes;
  Address agent;
};
static_assert(std::has_unique_object_representations_v<NodeFacts>);

Key own_key() {
  Status status;
  runtime::NodeMember* const node = this_node(&status);
  Key key{};
  if (node != nullptr)
    std::copy(std::begin(node->registry().agent_key), std::end(node->registry().agent_key),
              key.begin());
  return key;
}

Address own_agent() {
  Status status;
  runtime::NodeMember* const node = this_node(&status);
  Address agent;
  if (node == nullptr || !node->call_agent()) return agent;
  agent = agent::own_address();
  agent.port = node->registry().agent_port.load();
  agent.key = own_key();
  return agent;
}

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
void count_connections(const Options& options, NodeFacts* facts) {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return;
  constexpr rlim_t plenty = 1 << 20;
  constexpr int64_t other_files = 16;
  const auto most = static_cast<int64_t>(std::min(descriptors.rlim_max, plenty));
  facts->callers = std::max<int64_t>(most - most / 4 - other_files, 0);
  const auto limit = static_cast<int64_t>(std::min(descriptors.rlim_cur, plenty));
  const int64_t left = std::max<int64_t>(limit - open_descriptors(limit), 0);
  facts->lines = std::min(limit / 4, left / 2);
  if (options.cb_nodes > 0) facts->lines = std::min(facts->lines, options.cb_nodes);
}

// The nodes that own bytes: all, or as many as every rank can have connections with, spread over
// all.
std::vector<int> owning_nodes(const std::vector<NodeFacts>& ranks) {
  const std::vector<int> nodes = lowest_of_nodes(ranks, &NodeFacts::node);
  const auto fewest = std::ranges::min(ranks, {}, &NodeFacts::lines).lines;
  const auto count = std::clamp<std::size_t>(static_cast<std::size_t>(fewest), 1, nodes.size());
  std::vector<int> chosen;
  for (std::size_t owner = 0; owner < count; ++owner)
    chosen.push_back(nodes[owner * nodes.size() / count]);
  return chosen;
}

// The owners of a file that had none, from what the ranks have told.
Owners new_owners(const std::vector<NodeFacts>& ranks, const Options& options,
                  int64_t end_of_file) {
  Owners owners;
  DomainFacts facts;
  for (const int lowest : owning_nodes(ranks)) {
    const NodeFacts& node = ranks[static_cast<std::size_t>(lowest)];
    owners.agents.push_back(node.agent);
    facts.include_page(node.page_size);
    facts.stripe_bytes = std::max(facts.stripe_bytes, node.stripes.bytes);
    facts.servers = std::max(facts.servers, node.stripes.servers);
  }
  facts.nodes = static_cast<uint32_t>(owners.agents.size());
  facts.chunk_bytes = options.domain_size_bytes;
  facts.file_bytes = end_of_file;
  // The region that is written first is not known yet.
  const std::string name = options.domain == "region" ? "cyclic" : options.domain;
  owners.domains = find_assignment(name)->assign(facts);
  return owners;
}

agent::FileTerms terms_of(const Handle& handle, const std::string& path) {
  agent::FileTerms terms;
  terms.path = path;
  terms.mode = handle.readable ? handle.writable ? OpenMode::read_write : OpenMode::read_only
                               : OpenMode::write_only;
  terms.options = handle.cached->options();
  return terms;
}

// Whether this node can reach the next one's agent. Where one node cannot, a firewall is between
// them, as a rule between all. A firewall that drops what comes costs seconds, so it is met once.
bool reaches_next(const Owners& owners, uint32_t self) {
  static std::atomic<bool> cut_off{false};
  if (cut_off.load()) return false;
  Connection tried;
  const std::size_t next = (self + 1) % owners.agents.size();
  if (Connection::dial(owners.agents[next], &tried).ok()) return true;
  cut_off.store(true);
  return false;
}

// All ranks' facts; empty: a rank has no memory for them.
std::vector<NodeFacts> gather(const Handle& handle, const NodeFacts& mine) {
  std::vector<NodeFacts> ranks;
  const Status had_memory =
      within_memory([&] { ranks.resize(static_cast<std::size_t>(handle.ranks)); });
  if (any_rank(handle.own.comm, !had_memory.ok())) return {};
  constexpr int words = sizeof(NodeFacts) / sizeof(int64_t);
  mpi().Allgather(&mine, words, mpi().int64, ranks.data(), words, mpi().int64, handle.own.comm);
  return ranks;
}

NodeFacts own_facts(const Handle& handle) {
  NodeFacts mine;
  mine.node = node_identity();
  mine.page_size = handle.cached->options().page_size_bytes;
  mine.owners = handle.cached->owners();
  mine.session = handle.cached->kept_session();
  mine.stripes = stripes_of(handle.file);
  count_connections(handle.cached->options(), &mine);
  const Status found = within_memory([&] {
    mine.agent = own_agent();
    runtime::FoundFile file;
    const Status status = runtime::find_file(posix_path(handle.name), &file);
    mine.inode = file.identity.inode;
    return status;
  });
  if (!found.ok()) mine.agent.port = 0;
  return mine;
}

// The owners that the file has on some node, told by the first rank that knows them. Called by all
// ranks; empty: it could not tell.
std::optional<Owners> told_by(Handle& handle, int teller) {
  std::vector<std::byte> record;
  if (handle.rank == teller) (void)within_memory([&] { record = handle.cached->owners_record(); });
  int64_t bytes = std::ssize(record);
  mpi().Bcast(&bytes, 1, mpi().int64, teller, handle.own.comm);
  const Status had_memory = within_memory([&] { record.resize(static_cast<std::size_t>(bytes)); });
  if (any_rank(handle.own.comm, !had_memory.ok())) return std::nullopt;
  mpi().Bcast(record.data(), static_cast<int>(bytes), mpi().byte, teller, handle.own.comm);
  std::optional<Owners> owners;
  (void)within_memory([&] { owners = Owners::decoded(record); });
  return owners;
}

// Whether the file system shows a node's processes what another node has written after their open.
bool shows_other_nodes(const std::string& path) {
  constexpr unsigned long smb2 = 0xfe534d42;  // not in every header
  constexpr unsigned long kinds[] = {NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, smb2,
                                     AFS_SUPER_MAGIC};
  struct statfs info;
  return statfs(path.c_str(), &info) != 0 ||
         std::ranges::find(kinds, static_cast<unsigned long>(info.f_type)) == std::end(kinds);
}

Status give_job_file(Handle& handle, const Owners& owners) {
  return within_memory([&] {
    runtime::FoundFile found;
    const Status status = runtime::find_file(posix_path(handle.name), &found);
    if (!status.ok()) return status;
    handle.job_file = std::make_unique<agent::JobFile>(
        *handle.cached, owners, owners.number_of(own_key()), terms_of(handle, found.absolute_path),
        shows_other_nodes(found.absolute_path));
    return Status();
  });
}

// This rank's part of the open, without communication over MPI. `first`: it is the first of its
// node's ranks.
Status join_alone(Handle& handle, const Owners& owners, bool given, bool first) {
  bool news = false;
  const std::vector<std::byte> record = owners.encoded();
  Status status = handle.cached->join_owners(owners.identity(), record, &news);
  if (!status.ok()) return status;
  const uint32_t self = owners.number_of(own_key());
  if (!given && first && !reaches_next(owners, self)) return {Code::network, 0, -1};
  status = give_job_file(handle, owners);
  // What ranks wrote into this node's cache alone may belong to other owners.
  return status.ok() ? handle.cached->commit() : status;
}

// How the ranks reach owners in collective calls; null: they ask agents, which know who has touched
// a chunk first.
std::unique_ptr<CollectiveExchange> make_exchange(const Handle& handle, const Owners& owners,
                                                  const std::vector<NodeFacts>& ranks) {
  if (owners.domains.first_touch()) return nullptr;
  std::vector<uint32_t> numbers;
  for (const NodeFacts& rank : ranks) numbers.push_back(owners.number_of(rank.agent.key));
  return std::make_unique<CollectiveExchange>(handle.own.comm, handle.rank, numbers,
                                              static_cast<uint32_t>(owners.agents.size()),
                                              *handle.cached);
}

}  // namespace

bool join_owners(Handle& handle, int64_t end_of_file) {
  const NodeFacts mine = own_facts(handle);
  const std::vector<NodeFacts> ranks = gather(handle, mine);
  if (ranks.empty()) return false;
  // All ranks decide alike from the same facts.
  const auto teller =
      std::ranges::find_if(ranks, [](const auto& rank) { return rank.owners != 0; });
  const bool given = teller != ranks.end();
  const bool fits = std::ranges::all_of(ranks, [&](const NodeFacts& rank) {
    return rank.agent.port > 0 && rank.callers >= std::ssize(ranks) &&
           rank.inode == ranks.front().inode && (rank.owners == 0 || rank.owners == teller->owners);
  });
  if (!fits) return false;
  std::optional<Owners> owners;
  if (given) {
    owners = told_by(handle, static_cast<int>(teller - ranks.begin()));
  } else {
    (void)within_memory([&] { owners = new_owners(ranks, handle.cached->options(), end_of_file); });
  }
  const bool first =
      std::ranges::find(ranks, mine.node, &NodeFacts::node) - ranks.begin() == handle.rank;
  Status status{Code::no_memory, 0, -1};
  if (owners) status = within_memory([&] { return join_alone(handle, *owners, given, first); });
  // Other handles may hold bytes of the file in this node's cache. Looked at only now: a handle
  // that is opened later sees the owners before its first access.
  const bool used =
      handle.cached->handles() > std::ranges::count(ranks, mine.node, &NodeFacts::node);
  struct {
    int64_t failed, used;
  } agreed{!status.ok(), given || used};
  agreed = agree_max(handle.own.comm, agreed);
  if (agreed.failed != 0) return false;
  handle.elsewhere = given;
  const bool one_session = std::ranges::all_of(ranks, [&](const NodeFacts& rank) {
    return rank.session != 0 && rank.session == mine.session;
  });
  if (agreed.used != 0 || !uses_kept_pages(handle, one_session)) {
    // All nodes have committed what they held, so what is clean may be old now.
    handle.cached->drop_clean();
    if (agreed.used == 0) (void)handle.cached->note_held(runtime::Held::nothing);
  }
  status = within_memory([&] { handle.exchange = make_exchange(handle, *owners, ranks); });
  if (status.ok() && given) status = handle.job_file->meet_owners();
  return !any_rank(handle.own.comm, !status.ok());
}

Status meet_owners(Handle& handle) {
  if (!handle.may_get_owners || handle.job_file != nullptr || handle.cached->owners() == 0)
    return {};
  return within_memory([&] {
    const std::optional<Owners> owners = Owners::decoded(handle.cached->owners_record());
    Status status{Code::network, ENOENT, -1};
    if (owners) status = give_job_file(handle, *owners);
    if (!status.ok()) return status;
    handle.elsewhere = true;
    status = handle.job_file->meet_owners();
    if (!status.ok()) handle.job_file.reset();
    return status;
  });
}

}  // namespace forebay::mpiio
