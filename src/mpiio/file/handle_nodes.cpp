#include "mpiio/file/handle_nodes.h"

#include <algorithm>
#include <vector>

#include "mpiio/file/ranks_by_node.h"
#include "mpiio/file/stripes.h"
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
    const std::vector<int> leaders = lowest_of_nodes(places, &Place::node);
    const auto self = std::ranges::find_if(leaders, [&](int leader) {
      return places[static_cast<std::size_t>(leader)].node == mine.node;
    });
    for (const Place& place : places) nodes->facts_.include_page(place.page_size);
    nodes->leads_ = *self == rank;
    nodes->channel_.emplace(comm, leaders);
    nodes->exchange_.emplace(*nodes->channel_, static_cast<uint32_t>(self - leaders.begin()),
                             static_cast<uint32_t>(leaders.size()));
  });
  return any_rank(comm, !status.ok()) ? nullptr : std::move(nodes);
}

const FileDomains& HandleNodes::domains(runtime::CachedFile& file, MPI_File opened) {
  if (domains_) return *domains_;
  const Options& options = file.options();
  // Begin and end of the region that is written, the file's size, its stripes, and the option.
  const Stripes stripes = stripes_of(file, opened);
  ListExchange::Facts all{INT64_MAX, 0, 0, stripes.bytes, stripes.servers, options.cb_nodes};
  const Status known = within_memory([&] {
    const Extent region = file.dirty_region();
    if (!region.empty()) {
      all[0] = region.offset;
      all[1] = region.end();
    }
    return file.size(&all[2]);
  });
  (void)known;  // the others' facts are used
  exchange_->gather(ListExchange::Facts(all), [&](const ListExchange::Facts& theirs) {
    all[0] = std::min(all[0], theirs[0]);
    for (std::size_t fact = 1; fact < all.size(); ++fact)
      all[fact] = std::max(all[fact], theirs[fact]);
  });
  facts_.nodes = exchange_->count();
  if (all[5] > 0) facts_.nodes = static_cast<uint32_t>(std::min<int64_t>(all[5], facts_.nodes));
  facts_.chunk_bytes = options.domain_size_bytes;
  if (all[1] > all[0]) facts_.region = {all[0], all[1] - all[0]};
  facts_.file_bytes = all[2];
  facts_.stripe_bytes = all[3];
  facts_.servers = all[4];
  return domains_.emplace(find_assignment(options.domain)->assign(facts_));
}

}  // namespace forebay::mpiio
