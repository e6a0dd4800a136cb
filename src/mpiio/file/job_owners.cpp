#include "mpiio/file/job_owners.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/connection.h"
#include "agent/file_terms.h"
#include "agent/job_file.h"
#include "agent/owners.h"
#include "mpiio/file/file_name.h"
#include "mpiio/file/job_directory.h"
#include "mpiio/file/kept_pages.h"
#include "mpiio/file/open_facts.h"
#include "mpiio/job/job.h"
#include "mpiio/library/agreement.h"
#include "runtime/node/node_member.h"

namespace forebay::mpiio {
namespace {

using agent::Address;
using agent::EnrolledFile;
using agent::Key;
using agent::Owners;
using runtime::OpenMode;

// The nodes that own bytes: all, or as many as every rank can have connections with, spread over
// all.
std::vector<NodeFacts> owning_nodes(const std::vector<NodeFacts>& nodes, int64_t lines) {
  const auto count = std::clamp<std::size_t>(static_cast<std::size_t>(lines), 1, nodes.size());
  std::vector<NodeFacts> chosen;
  for (std::size_t owner = 0; owner < count; ++owner)
    chosen.push_back(nodes[owner * nodes.size() / count]);
  return chosen;
}

// Whether the owners' parts may change while the file is open.
bool may_change(const Options& options) {
  return options.domain == "region" || options.domain == "dynamic";
}

// The owners of a file that had none: these nodes. *parts: how their parts may change; null: they
// stay.
Owners new_owners(const std::vector<NodeFacts>& nodes, const Options& options, int64_t end_of_file,
                  std::unique_ptr<RegionParts>* parts) {
  Owners owners;
  DomainFacts facts;
  for (const NodeFacts& node : nodes) {
    owners.agents.push_back(node.agent);
    facts.include_page(node.page_size);
    facts.stripe_bytes = std::max(facts.stripe_bytes, node.stripes.bytes);
    facts.servers = std::max(facts.servers, node.stripes.servers);
    facts.close_to_open = facts.close_to_open || node.close_to_open != 0;
  }
  facts.nodes = static_cast<uint32_t>(owners.agents.size());
  facts.chunk_bytes = options.domain_size_bytes;
  facts.file_bytes = end_of_file;
  // Who comes first depends on time.
  facts.close_to_open = facts.close_to_open && !options.deterministic;
  if (!may_change(options)) {
    owners.domains = find_assignment(options.domain)->assign(facts);
    return owners;
  }
  *parts = std::make_unique<RegionParts>(facts, options.domain == "dynamic");
  owners.domains = (*parts)->now();
  return owners;
}

// Whether the file's pages were kept when the same nodes owned other parts of it, and all ranks
// know which (`kept`). The owners get them again. Called by all ranks.
bool resume_parts(const Handle& handle, uint64_t kept, std::optional<Owners>* owners) {
  if (kept == 0) return false;
  std::optional<Owners> before;
  (void)within_memory([&] { before = Owners::decoded(handle.cached->record_of(kept)); });
  const bool same_nodes =
      before && *owners &&
      std::ranges::equal(before->agents, (*owners)->agents, {}, &Address::key, &Address::key);
  if (any_rank(handle.own.comm, !same_nodes)) return false;
  *owners = std::move(before);
  return true;
}

agent::FileTerms terms_of(const Handle& handle) {
  agent::FileTerms terms;
  terms.path = handle.cached->path();
  terms.mode = handle.readable ? handle.writable ? OpenMode::read_write : OpenMode::read_only
                               : OpenMode::write_only;
  terms.inode = handle.cached->identity().inode;
  terms.options = handle.cached->options();
  terms.options.cache_size_bytes = handle.cached->wanted_cache_size();
  return terms;
}

// Enters the open in the job's directory. `one_node`: of ranks of this node, which `proposed` names
// as the only owner; `known`: owners by which the node has the file already. If the file has owners
// then, nodes that cached it alone have been told. Empty:
// there is no directory, it does not answer, or the file is not for it.
Status enrol(Handle& handle, bool one_node, const Owners& proposed, std::optional<Owners> known,
             std::optional<agent::Enrolled>* answer) {
  const std::shared_ptr<agent::Line> directory = line_to_directory();
  if (directory == nullptr) return {};
  const std::optional<agent::FileKey> key = key_of(*handle.cached);
  if (!key) return {};
  agent::Enrolled told;
  const Status asked =
      EnrolledFile::enrol(directory, {*key, handle.writable, one_node, proposed, std::move(known)},
                          &told, &handle.enrolled);
  if (!asked.ok()) {
    if (asked.code != Code::no_memory) lose_directory();
    return {};
  }
  *answer = std::move(told);
  if (!(*answer)->owners) return {};
  agent::FileTerms terms = terms_of(handle);
  terms.owners = (*answer)->owners->encoded();
  return handle.enrolled->tell((*answer)->to_tell, terms);
}

// Whether this node can reach the next one's agent. Where one node cannot, a firewall is between
// them, as a rule between all. A firewall that drops what comes costs seconds, so it is met once.
bool reaches_next(const Owners& owners, uint32_t self) {
  static std::atomic<bool> cut_off{false};
  if (cut_off.load()) return false;
  const std::size_t next = (self + 1) % owners.agents.size();
  const std::shared_ptr<agent::Line> line = agent::Lines::of_process().to(owners.agents[next]);
  const std::unique_lock turn = line->take();
  if (line->connect().ok()) return true;
  cut_off.store(true);
  return false;
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
    handle.job_file = std::make_unique<agent::JobFile>(
        *handle.cached, owners, owners.number_of(own_key()), terms_of(handle));
  });
}

// Whether the handle is the first that can write to the file on this node. Without a directory,
// nodes may have kept copies of each other's bytes until now.
bool ends_copies(const Handle& handle) {
  return handle.writable && !handle.cached->found_writable();
}

// The owners that nodes of the handle know, or else new ones. Called by all ranks, after which they
// agree. Empty: this rank has no memory. *parts: as new_owners() says.
std::optional<Owners> owners_of_open(Handle& handle, const OpenFacts& facts, int64_t end_of_file,
                                     std::unique_ptr<RegionParts>* parts) {
  if (facts.teller >= 0) {
    std::vector<std::byte> record;
    if (handle.rank == facts.teller)
      (void)within_memory([&] { record = handle.cached->owners_record(); });
    return told_by(handle, facts.teller, std::move(record));
  }
  std::optional<Owners> owners;
  (void)within_memory([&] {
    owners = new_owners(owning_nodes(facts.nodes, facts.lines), handle.cached->options(),
                        end_of_file, parts);
  });
  return owners;
}

// This rank's part of the open, without communication over MPI. `first`: it is the first of its
// node's ranks. *news: this node's cache had the file alone until now.
Status join_alone(Handle& handle, const Owners& owners, bool given, bool first, bool* news) {
  const std::vector<std::byte> record = owners.encoded();
  Status status = handle.cached->join_owners(owners.identity(), record, news);
  if (!status.ok()) return status;
  const uint32_t self = owners.number_of(own_key());
  if (!given && first && !reaches_next(owners, self)) return {Code::network, 0, -1};
  status = give_job_file(handle, owners);
  // What ranks wrote into this node's cache alone may belong to other owners.
  return status.ok() && *news ? handle.cached->commit() : status;
}

// The handle goes through the owners that this node's cache knows now.
Status take_owners(Handle& handle) {
  return within_memory([&] {
    const std::optional<Owners> owners = Owners::decoded(handle.cached->owners_record());
    Status status{Code::network, ENOENT, -1};
    if (owners) status = give_job_file(handle, *owners);
    if (!status.ok()) return status;
    handle.elsewhere = true;
    if (!handle.has_met_owners) status = handle.job_file->meet_owners();
    if (status.ok())
      handle.job_file->read_from_owners(false);
    else
      handle.job_file.reset();
    return status;
  });
}

// How the ranks reach owners in collective calls; null: they ask agents, which know who has touched
// a chunk first.
std::unique_ptr<CollectiveExchange> make_exchange(const Handle& handle, const Owners& owners,
                                                  const OpenFacts& facts) {
  if (owners.domains.first_touch()) return nullptr;
  std::vector<uint32_t> of_nodes, of_ranks;
  for (const NodeFacts& node : facts.nodes) of_nodes.push_back(owners.number_of(node.agent.key));
  of_ranks.reserve(facts.node_of_rank.size());
  for (const uint32_t node : facts.node_of_rank) of_ranks.push_back(of_nodes[node]);
  return std::make_unique<CollectiveExchange>(handle.own.comm, handle.rank, of_ranks,
                                              static_cast<uint32_t>(owners.agents.size()),
                                              *handle.cached);
}

// What the directory says of a file's writers (agent::Enrolled).
struct Writers {
  bool written = false;
  bool ends_copies = false;
};

// Enters the open of ranks of several nodes in the job's directory, and replaces the owners by
// those that the file has there. *given: others have the file open. Called by all ranks, after
// which they agree. False: nodes that cached the file alone cannot be told.
bool agree_with_directory(Handle& handle, std::optional<Owners>* owners, bool* given,
                          Writers* writers) {
  struct {
    int64_t failed, others, replaced, enrolled, written, ends_copies;
  } told{};
  std::vector<std::byte> record;
  if (handle.rank == 0 && *owners) {
    const Status status = within_memory([&] {
      std::optional<agent::Enrolled> answer;
      const Status asked = enrol(handle, false, **owners, std::nullopt, &answer);
      if (answer && answer->owners) {
        record = answer->owners->encoded();
        told.others = int64_t{answer->others};
        told.written = int64_t{answer->written};
        told.ends_copies = int64_t{answer->ends_copies};
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
  handle.in_directory = told.enrolled != 0;
  *writers = {told.written != 0, told.ends_copies != 0};
  if (told.replaced != 0) *owners = told_by(handle, 0, std::move(record));
  return true;
}

// Gives the handle what its ranks share, which the agent of rank 0 keeps. Called by all ranks;
// `status`: of what each has done before. False: one has failed.
bool share_keeper(Handle& handle, const Address& keeper, Status status) {
  struct {
    int64_t failed, name;
  } told{};
  if (handle.rank == 0) told.name = static_cast<int64_t>(agent::random_key()[0] >> 1);
  const Status had_memory = within_memory([&] {
    handle.kept = std::make_unique<agent::KeptHandle>(agent::Lines::of_process().to(keeper));
  });
  told.failed = int64_t{!status.ok() || !had_memory.ok()};
  told = agree_max(handle.own.comm, told);
  if (told.failed != 0) return false;
  handle.kept->set_name(static_cast<uint64_t>(told.name));
  return true;
}

}  // namespace

bool has_owners(const Options& options) {
  return options.scope == Scope::job && options.consistency == Consistency::posix &&
         options.storage == "posix";
}

Status enrol_alone(Handle& handle) {
  if (!job_has_directory()) return {};
  return within_memory([&]() -> Status {
    const Options& options = handle.cached->options();
    NodeFacts mine;
    mine.page_size = options.page_size_bytes;
    mine.close_to_open = int64_t{handle.cached->storage().close_to_open()};
    mine.agent = own_agent();
    if (mine.agent.port <= 0) return {};
    if (options.domain == "stripe") mine.stripes = stripes_of(*handle.cached, handle.file);
    int64_t end_of_file = 0;
    if (options.domain == "file") (void)handle.cached->size(&end_of_file);
    std::optional<agent::Enrolled> answer;
    std::unique_ptr<RegionParts> ignored;
    const Owners own = new_owners({mine}, options, end_of_file, &ignored);
    // Owners that come to the node's cache before the directory takes the node for alone are those
    // of an open that has ended meanwhile: the directory is told of them.
    do {
      handle.enrolled.reset();
      answer.reset();
      std::optional<Owners> known;
      if (handle.cached->owners() != 0) known = Owners::decoded(handle.cached->owners_record());
      const Status status = enrol(handle, true, own, std::move(known), &answer);
      if (!status.ok() || !answer) return status;
    } while (!answer->owners && handle.cached->owners() != 0);
    if (!answer->owners) return {};
    const Owners& owners = *answer->owners;
    bool news = false;
    const Status joined = handle.cached->join_owners(owners.identity(), owners.encoded(), &news);
    if (!joined.ok()) return joined;
    if (answer->written) handle.cached->note_writer();
    // Of several ranks, this one may not be the first.
    handle.has_met_owners = !news && handle.ranks == 1 && !answer->ends_copies;
    // After a failure the first access tries again.
    if (!answer->ends_copies || !take_owners(handle).ok()) return {};
    return handle.enrolled->end_copies();
  });
}

bool join_owners(Handle& handle, int64_t end_of_file) {
  const std::optional<OpenFacts> facts = gather_facts(handle);
  // All ranks decide alike from the same facts. Where there is a directory, it tells the owners,
  // which may change just now.
  if (!facts || !facts->fits || !(facts->same || facts->directory)) return false;
  bool given = facts->teller >= 0;
  std::unique_ptr<RegionParts> parts;
  std::optional<Owners> owners = owners_of_open(handle, *facts, end_of_file, &parts);
  if (!given && may_change(handle.cached->options()) &&
      resume_parts(handle, facts->kept, &owners) && parts != nullptr)
    parts->note_change(owners->domains);
  Writers writers;
  if (facts->directory && !agree_with_directory(handle, &owners, &given, &writers)) return false;
  if (given) parts.reset();
  if (parts != nullptr && !handle.in_directory) parts->settle();
  Status status{Code::no_memory, 0, -1};
  bool news = false;
  if (owners)
    status = within_memory([&] { return join_alone(handle, *owners, given, facts->first, &news); });
  // Other handles may hold bytes of the file in this node's cache. Looked at only now: a handle
  // that is opened later sees the owners before its first access.
  const bool used = handle.cached->handles() > facts->ranks_here;
  const bool ends = handle.in_directory ? writers.ends_copies : ends_copies(handle);
  struct {
    int64_t failed, used, news, written;
  } agreed{!status.ok(), given || used, news || ends, writers.written || handle.cached->writable()};
  agreed = agree_max(handle.own.comm, agreed);
  if (agreed.failed != 0) return false;
  if (agreed.written != 0) handle.cached->note_writer();
  // A handle from before the directory was found is not in it.
  if (parts != nullptr && agreed.used != 0) parts->settle();
  handle.elsewhere = given;
  handle.first_on_node = facts->first;
  handle.close_to_open = std::ranges::any_of(
      facts->nodes, [](const NodeFacts& node) { return node.close_to_open != 0; });
  handle.region_parts = std::move(parts);
  const bool keeps = agreed.used == 0 && uses_kept_pages(handle, facts->one_session);
  // Where the owners and a writer have been known on all nodes, no cache holds bytes of others.
  const bool meets = !given || agreed.news != 0;
  if (!keeps && meets) {
    // All nodes have committed what they held, so what is clean may be old now.
    handle.cached->drop_clean();
    if (agreed.used == 0) (void)handle.cached->note_held(runtime::Held::nothing);
  }
  status = within_memory([&] { handle.exchange = make_exchange(handle, *owners, *facts); });
  if (status.ok() && given && meets) status = handle.job_file->meet_owners();
  (void)within_memory([&] { handle.job_file->read_from_owners(keeps); });  // else from storage
  if (!share_keeper(handle, facts->nodes[facts->node_of_rank[0]].agent, status)) return false;
  if (handle.rank == 0 && writers.ends_copies) (void)handle.enrolled->end_copies();
  return true;
}

void find_owners_of_guests(Handle& handle, int64_t end_of_file) {
  const std::optional<OpenFacts> facts = gather_facts(handle);
  if (!facts || !facts->fits || !facts->same) return;
  std::unique_ptr<RegionParts> ignored;
  const std::optional<Owners> owners = owners_of_open(handle, *facts, end_of_file, &ignored);
  std::unique_ptr<agent::Guests> guests;
  const Status joined = within_memory([&] {
    // What owners hold is committed by their own ranks in calls of this handle. A node's client
    // that keeps bytes would not show what another node's has stored.
    const auto fits = [&](const NodeFacts& node) {
      return node.close_to_open == 0 && owners->number_of(node.agent.key) != Owners::none;
    };
    if (!owners || owners->domains.first_touch() || handle.cached->options().deterministic ||
        owners->agents.size() != facts->nodes.size() || !std::ranges::all_of(facts->nodes, fits))
      return Status{Code::unsupported, 0, -1};
    bool news = false;
    const Status known = handle.cached->join_owners(owners->identity(), owners->encoded(), &news);
    if (known.ok())
      guests = std::make_unique<agent::Guests>(*handle.cached, *owners,
                                               owners->number_of(own_key()), terms_of(handle));
    return known;
  });
  if (!any_rank(handle.own.comm, !joined.ok())) handle.guests = std::move(guests);
}

Status meet_owners(Handle& handle) {
  if (!handle.may_get_owners || handle.job_file != nullptr || handle.cached->owners() == 0)
    return {};
  return take_owners(handle);
}

}  // namespace forebay::mpiio
