#include "mpiio/file/handle_nodes.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "mpiio/job/job.h"
#include "mpiio/library/agreement.h"
#include "runtime/cache/cached_file.h"

namespace forebay::mpiio {
namespace {

// Where a rank is.
struct Place {
  int64_t node = 0;
  int64_t page_size = 0;
};

// A multiple of both, unless it is too large to be of use: nodes have pages of one size as a rule.
int64_t common_unit(int64_t unit, const Place& place) {
  constexpr int64_t most = 1 << 30;
  const int64_t both = std::lcm(unit, place.page_size);
  return both <= most ? both : unit;
}

// The lowest rank of each node.
std::vector<int> leaders_of(const std::vector<Place>& places) {
  std::vector<int> leaders;
  std::unordered_set<int64_t> known;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    if (known.insert(places[rank].node).second) leaders.push_back(static_cast<int>(rank));
  }
  return leaders;
}

}  // namespace

std::unique_ptr<HandleNodes> HandleNodes::find(MPI_Comm comm, int64_t page_size) {
  int rank = 0, ranks = 1;
  mpi().Comm_rank(comm, &rank);
  mpi().Comm_size(comm, &ranks);
  std::vector<Place> places;
  Status status = within_memory([&] { places.resize(static_cast<std::size_t>(ranks)); });
  if (any_rank(comm, !status.ok())) return nullptr;
  const Place mine{node_identity(), page_size};
  mpi().Allgather(&mine, 2, mpi().int64, places.data(), 2, mpi().int64, comm);
  std::unique_ptr<HandleNodes> nodes;
  status = within_memory([&] {
    nodes = std::make_unique<HandleNodes>();
    const std::vector<int> leaders = leaders_of(places);
    const auto self = std::ranges::find_if(leaders, [&](int leader) {
      return places[static_cast<std::size_t>(leader)].node == mine.node;
    });
    for (const Place& place : places) nodes->unit_bytes_ = common_unit(nodes->unit_bytes_, place);
    nodes->leads_ = *self == rank;
    nodes->channel_.emplace(comm, leaders);
    nodes->exchange_.emplace(*nodes->channel_, static_cast<uint32_t>(self - leaders.begin()),
                             static_cast<uint32_t>(leaders.size()));
  });
  return any_rank(comm, !status.ok()) ? nullptr : std::move(nodes);
}

const FileDomains& HandleNodes::domains(runtime::CachedFile& file) {
  if (domains_) return *domains_;
  const Options& options = file.options();
  // Begin and end of the region that is written, and the file's size.
  ListExchange::Facts all{INT64_MAX, 0, 0};
  const Status known = within_memory([&] {
    const Extent region = file.dirty_region();
    if (!region.empty()) all = {region.offset, region.end(), 0};
    return file.size(&all[2]);
  });
  (void)known;  // the others' facts are used
  exchange_->gather(ListExchange::Facts(all), [&](const ListExchange::Facts& theirs) {
    all = {std::min(all[0], theirs[0]), std::max(all[1], theirs[1]), std::max(all[2], theirs[2])};
  });
  DomainFacts facts;
  facts.nodes = exchange_->count();
  facts.unit_bytes = unit_bytes_;
  facts.chunk_bytes = options.domain_size_bytes;
  if (all[1] > all[0]) facts.region = {all[0], all[1] - all[0]};
  facts.file_bytes = all[2];
  return domains_.emplace(find_assignment(options.domain)->assign(facts));
}

}  // namespace forebay::mpiio
