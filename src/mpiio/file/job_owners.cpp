#include "mpiio/file/job_owners.h"

#include <dirent.h>
#include <sys/resource.h>

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
#include "mpiio/file/file_system.h"
#include "mpiio/file/job_directory.h"
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
using agent::EnrolledFile;
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
  uint64_t kept = 0;    // CachedFile::kept_owners()
  int64_t callers = 0;  // ranks that the node's agent can have connections with
  int64_t lines = 0;    // agents that this rank can have connections with
  Stripes stripes;
  Address agent;
};
static_assert(std::has_unique_object_representations_v<NodeFacts>);

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

// The owners of a file that had none, from what the ranks have told. *region: with domain=region,
// how their parts may change.
Owners new_owners(const std::vector<NodeFacts>& ranks, const Options& options, int64_t end_of_file,
                  std::unique_ptr<FirstRegion>* region) {
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
  if (options.domain != "region") {
    owners.domains = find_assignment(options.domain)->assign(facts);
    return owners;
  }
  *region = std::make_unique<FirstRegion>(facts);
  owners.domains = (*region)->at_first();
  return owners;
}

// Whether the file's pages were kept when the same nodes owned other parts of it, and all ranks
// know which. The owners get them again. Called by all ranks.
bool resume_parts(const Handle& handle, const std::vector<NodeFacts>& ranks,
                  std::optional<Owners>* owners) {
  const uint64_t kept = ranks.front().kept;
  const auto has_them = [&](const NodeFacts& rank) { return rank.kept == kept; };
  if (kept == 0 || !std::ranges::all_of(ranks, has_them)) return false;
  std::optional<Owners> before;
  (void)within_memory([&] { before = Owners::decoded(handle.cached->record_of(kept)); });
  const bool same_nodes =
      before && *owners &&
      std::ranges::equal(before->agents, (*owners)->agents, {}, &Address::key, &Address::key);
  if (any_rank(handle.own.comm, !same_nodes)) return false;
  *owners = std::move(before);
  return true;
}

agent::FileTerms terms_of(const Handle& handle, const std::string& path) {
  agent::FileTerms terms;
  terms.path = path;
  terms.mode = handle.readable ? handle.writable ? OpenMode::read_write : OpenMode::read_only
                               : OpenMode::write_only;
  terms.inode = handle.cached->identity().inode;
  terms.options = handle.cached->options();
  return terms;
}

// Enters the open in the job's directory. `one_node`: of ranks of this node, which `proposed` names
// as the only owner. If the file has owners then, nodes that cached it alone have been told. Empty:
// there is no directory, it does not answer, or the file is not for it.
Status enrol(Handle& handle, bool one_node, const Owners& proposed,
             std::optional<agent::Enrolled>* answer) {
  const std::shared_ptr<agent::Line> directory = line_to_directory();
  runtime::FoundFile found;
  if (directory == nullptr || !runtime::find_file(posix_path(handle.name), &found).ok()) return {};
  const std::optional<agent::FileKey> key = key_of(found);
  if (!key) return {};
  agent::Enrolled told;
  const Status asked = EnrolledFile::enrol(directory, {*key, handle.writable, one_node, proposed},
                                           &told, &handle.enrolled);
  if (!asked.ok()) {
    if (asked.code != Code::no_memory) lose_directory();
    return {};
  }
  *answer = std::move(told);
  if (!(*answer)->owners) return {};
  agent::FileTerms terms = terms_of(handle, found.absolute_path);
  terms.owners = (*answer)->owners->encoded();
  return handle.enrolled->tell((*answer)->to_tell, terms);
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
  mine.kept = handle.cached->kept_owners();
  mine.stripes = stripes_of(handle.file, posix_path(handle.name));
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

// The owners of which one rank tells the others by the record. Called by all ranks; empty: it could
// not tell.
std::optional<Owners> told_by(Handle& handle, int teller, std::vector<std::byte> record) {
  int64_t bytes = std::ssize(record);
  mpi().Bcast(&bytes, 1, mpi().int64, teller, handle.own.comm);
  const Status had_memory = within_memory([&] { record.resize(static_cast<std::size_t>(bytes)); });
  if (any_rank(handle.own.comm, !had_memory.ok())) return std::nullopt;
  mpi().Bcast(record.data(), static_cast<int>(bytes), mpi().byte, teller, handle.own.comm);
  std::optional<Owners> owners;
  (void)within_memory([&] { owners = Owners::decoded(record); });
  return owners;
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

// Enters the open of ranks of several nodes in the job's directory, and replaces the owners by
// those that the file has there. *given: others have the file open; *enrolled: the directory knows
// of the open. Called by all ranks, after which they agree. False: nodes that cached the file alone
// cannot be told.
bool agree_with_directory(Handle& handle, std::optional<Owners>* owners, bool* given,
                          bool* enrolled) {
  if (!job_has_directory()) return true;
  struct {
    int64_t failed, others, replaced, enrolled;
  } told{};
  std::vector<std::byte> record;
  if (handle.rank == 0 && *owners) {
    const Status status = within_memory([&] {
      std::optional<agent::Enrolled> answer;
      const Status asked = enrol(handle, false, **owners, &answer);
      if (answer && answer->owners) {
        record = answer->owners->encoded();
        told.others = int64_t{answer->others};
        told.replaced = int64_t{answer->owners->identity() != (*owners)->identity()};
      }
      return asked;
    });
    told.failed = int64_t{!status.ok()};
    told.enrolled = int64_t{handle.enrolled != nullptr};
  }
  told = agree_max(handle.own.comm, told);
  if (told.failed != 0) return false;
  *given = *given || told.others != 0;
  *enrolled = told.enrolled != 0;
  if (told.replaced != 0) *owners = told_by(handle, 0, std::move(record));
  return true;
}

}  // namespace

bool has_owners(const Options& options) {
  return options.scope == Scope::job && options.consistency == Consistency::posix &&
         options.storage == "posix" && !options.deterministic;
}

Status enrol_alone(Handle& handle) {
  if (!job_has_directory()) return {};
  return within_memory([&]() -> Status {
    const Options& options = handle.cached->options();
    NodeFacts mine;
    mine.node = node_identity();
    mine.page_size = options.page_size_bytes;
    mine.lines = 1;
    mine.agent = own_agent();
    if (mine.agent.port <= 0) return {};
    if (options.domain == "stripe") mine.stripes = stripes_of(handle.file, posix_path(handle.name));
    int64_t end_of_file = 0;
    if (options.domain == "file") (void)handle.cached->size(&end_of_file);
    std::optional<agent::Enrolled> answer;
    std::unique_ptr<FirstRegion> ignored;
    const Owners own = new_owners({mine}, options, end_of_file, &ignored);
    const Status status = enrol(handle, true, own, &answer);
    if (!status.ok() || !answer || !answer->owners) return status;
    bool news = false;
    const Owners& owners = *answer->owners;
    return handle.cached->join_owners(owners.identity(), owners.encoded(), &news);
  });
}

bool join_owners(Handle& handle, int64_t end_of_file) {
  const NodeFacts mine = own_facts(handle);
  const std::vector<NodeFacts> ranks = gather(handle, mine);
  if (ranks.empty()) return false;
  // All ranks decide alike from the same facts. Where there is a directory, it tells the owners,
  // which may change just now.
  const auto teller =
      std::ranges::find_if(ranks, [](const auto& rank) { return rank.owners != 0; });
  bool given = teller != ranks.end();
  const bool fits = std::ranges::all_of(ranks, [&](const NodeFacts& rank) {
    return rank.agent.port > 0 && rank.callers >= std::ssize(ranks) &&
           rank.inode == ranks.front().inode &&
           (rank.owners == 0 || rank.owners == teller->owners || job_has_directory());
  });
  if (!fits) return false;
  std::optional<Owners> owners;
  std::unique_ptr<FirstRegion> region;
  if (given) {
    const auto number = static_cast<int>(teller - ranks.begin());
    std::vector<std::byte> record;
    if (handle.rank == number)
      (void)within_memory([&] { record = handle.cached->owners_record(); });
    owners = told_by(handle, number, std::move(record));
  } else {
    const Options& options = handle.cached->options();
    (void)within_memory([&] { owners = new_owners(ranks, options, end_of_file, &region); });
    const bool resumed = options.domain == "region" && resume_parts(handle, ranks, &owners);
    if (resumed && region != nullptr) region->note_changed();
  }
  bool enrolled = false;
  if (!agree_with_directory(handle, &owners, &given, &enrolled)) return false;
  if (given) region.reset();
  if (region != nullptr && !enrolled) region->settle();
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
  handle.first_on_node = first;
  handle.first_region = std::move(region);
  const bool one_session = std::ranges::all_of(ranks, [&](const NodeFacts& rank) {
    return rank.session != 0 && rank.session == mine.session;
  });
  const bool keeps = agreed.used == 0 && uses_kept_pages(handle, one_session);
  if (!keeps) {
    // All nodes have committed what they held, so what is clean may be old now.
    handle.cached->drop_clean();
    if (agreed.used == 0) (void)handle.cached->note_held(runtime::Held::nothing);
  }
  status = within_memory([&] { handle.exchange = make_exchange(handle, *owners, ranks); });
  if (status.ok() && given) status = handle.job_file->meet_owners();
  (void)within_memory([&] { handle.job_file->read_from_owners(keeps); });  // else from storage
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
    if (status.ok())
      handle.job_file->read_from_owners(false);
    else
      handle.job_file.reset();
    return status;
  });
}

}  // namespace forebay::mpiio
