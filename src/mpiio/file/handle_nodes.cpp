#include "mpiio/file/handle_nodes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "mpiio/job/job.h"
#include "mpiio/library/agreement.h"
#include "runtime/cache/cached_file.h"

namespace forebay::mpiio {
namespace {

constexpr int tag = 1;

// Of a list: runs, bytes, and whether its node has more.
using Header = std::array<int64_t, 3>;

MPI_Datatype type_of(const int64_t*) { return mpi().int64; }
MPI_Datatype type_of(const std::byte*) { return mpi().byte; }

}  // namespace

std::unique_ptr<HandleNodes> HandleNodes::find(MPI_Comm comm, int64_t page_size) {
  int rank = 0, ranks = 1;
  mpi().Comm_rank(comm, &rank);
  mpi().Comm_size(comm, &ranks);
  struct Place {
    int64_t node, page_size;
  };
  std::vector<Place> places;
  auto nodes = std::make_unique<HandleNodes>();
  const Status had_memory = within_memory([&] {
    places.resize(static_cast<std::size_t>(ranks));
    nodes->leaders_.reserve(places.size());
  });
  if (any_rank(comm, !had_memory.ok())) return nullptr;
  const Place mine{node_identity(), page_size};
  mpi().Allgather(&mine, 2, mpi().int64, places.data(), 2, mpi().int64, comm);
  for (int r = 0; r < ranks; ++r) {
    const Place& place = places[static_cast<std::size_t>(r)];
    const auto known = std::ranges::find_if(nodes->leaders_, [&](int leader) {
      return places[static_cast<std::size_t>(leader)].node == place.node;
    });
    if (place.node == mine.node && known == nodes->leaders_.end()) {
      nodes->self_ = static_cast<uint32_t>(nodes->leaders_.size());
      nodes->leads_ = r == rank;
    }
    if (known == nodes->leaders_.end()) nodes->leaders_.push_back(r);
    nodes->unit_bytes_ = std::lcm(nodes->unit_bytes_, place.page_size);
  }
  nodes->comm_ = comm;
  const Status has_memory = within_memory([&] {
    nodes->sent_.resize(nodes->leaders_.size());
    nodes->taken_.resize(nodes->leaders_.size());
  });
  return any_rank(comm, !has_memory.ok()) ? nullptr : std::move(nodes);
}

// Messages --------------------------------------------------------------------------------------

HandleNodes::Partners HandleNodes::partners(uint32_t step) const {
  return {(self_ + step) % count(), (self_ + count() - step) % count()};
}

// Both sides know the counts; where one is 0 there is no message.
template <typename Value>
void HandleNodes::sendrecv(uint32_t to, std::span<const Value> sent, uint32_t from,
                           std::span<Value> received) const {
  MPI_Status status;
  mpi().Sendrecv(sent.data(), static_cast<int>(sent.size()), type_of(sent.data()),
                 sent.empty() ? MPI_PROC_NULL : leaders_[to], tag, received.data(),
                 static_cast<int>(received.size()), type_of(received.data()),
                 received.empty() ? MPI_PROC_NULL : leaders_[from], tag, comm_, &status);
}

// A list of runs of bytes: offset and length of each, then the bytes.
struct HandleNodes::Message {
  std::vector<int64_t> runs;
  std::vector<std::byte> bytes;

  void make_room(int64_t run_count, int64_t byte_count) {
    runs.resize(static_cast<std::size_t>(2 * run_count));
    bytes.resize(static_cast<std::size_t>(byte_count));
  }
  void pack(std::span<const Request> list) {
    int64_t length = 0;
    for (const Request& request : list) length += length_of(request);
    make_room(std::ssize(list), length);
    std::size_t run = 0;
    std::byte* at = bytes.data();
    for (const Request& request : list) {
      runs[run++] = request.offset;
      runs[run++] = length_of(request);
      for (const Segment& segment : request.segments) {
        std::memcpy(at, segment.memory, static_cast<std::size_t>(segment.length));
        at += segment.length;
      }
    }
  }
  int64_t run_count() const { return std::ssize(runs) / 2; }
  int64_t byte_count() const { return std::ssize(bytes); }
  bool accepted_by(const runtime::NodeExchange::Accept& accept) const {
    const std::byte* at = bytes.data();
    for (std::size_t run = 0; run < runs.size(); run += 2) {
      const Extent extent{runs[run], runs[run + 1]};
      if (!accept(extent, at).ok()) return false;
      at += extent.length;
    }
    return true;
  }
  void clear() {
    runs.clear();
    bytes.clear();
  }
};

bool HandleNodes::exchange(std::span<const std::span<const Request>> lists, bool more,
                           const Accept& accept) {
  Message out, in;
  bool any_more = more;
  for (uint32_t step = 1; step < count(); ++step) {
    const auto [to, from] = partners(step);
    out.clear();
    const Status packed = within_memory([&] {
      if (!lists.empty()) out.pack(lists[to]);
    });
    if (!packed.ok()) out.clear();
    const Header mine{out.run_count(), out.byte_count(), int64_t{more}};
    Header theirs{};
    sendrecv<int64_t>(to, mine, from, theirs);
    any_more = any_more || theirs[2] != 0;
    in.clear();
    const Status has_room = within_memory([&] { in.make_room(theirs[0], theirs[1]); });
    if (!has_room.ok()) in.clear();
    const std::array<int64_t, 1> wanted{int64_t{has_room.ok()}};
    std::array<int64_t, 1> is_wanted{1};
    sendrecv<int64_t>(from, std::span(wanted).first(theirs[0] != 0 ? 1 : 0), to,
                      std::span(is_wanted).first(mine[0] != 0 ? 1 : 0));
    sent_[to] = packed.ok() && is_wanted[0] != 0;
    if (!sent_[to]) out.clear();
    sendrecv<int64_t>(to, out.runs, from, in.runs);
    sendrecv<std::byte>(to, out.bytes, from, in.bytes);
    taken_[from] = has_room.ok() && in.accepted_by(accept);
  }
  return any_more;
}

void HandleNodes::answer(const Settle& settle) {
  for (uint32_t step = 1; step < count(); ++step) {
    const auto [to, from] = partners(step);
    const std::array<int64_t, 1> mine{int64_t{taken_[from]}};
    std::array<int64_t, 1> theirs{};
    sendrecv<int64_t>(from, mine, to, theirs);
    settle(to, theirs[0] != 0 && sent_[to] != 0);
  }
}

// Domains ---------------------------------------------------------------------------------------

const FileDomains& HandleNodes::domains(runtime::CachedFile& file) {
  if (assigned_) return domains_;
  const Options& options = file.options();
  std::array<int64_t, 3> facts{INT64_MAX, 0, 0};  // begin and end of the region, size of the file
  const Status known = within_memory([&] {
    const Extent region = file.dirty_region();
    if (!region.empty()) facts = {region.offset, region.end(), 0};
    return file.size(&facts[2]);
  });
  (void)known;  // the others' facts are used
  std::array<int64_t, 3> all = facts;
  for (uint32_t step = 1; step < count(); ++step) {
    const auto [to, from] = partners(step);
    std::array<int64_t, 3> theirs{};
    sendrecv<int64_t>(to, facts, from, theirs);
    all = {std::min(all[0], theirs[0]), std::max(all[1], theirs[1]), std::max(all[2], theirs[2])};
  }
  DomainFacts agreed;
  agreed.nodes = count();
  agreed.unit_bytes = unit_bytes_;
  agreed.chunk_bytes = options.domain_size_bytes;
  if (all[1] > all[0]) agreed.region = {all[0], all[1] - all[0]};
  agreed.file_bytes = all[2];
  domains_ = find_assignment(options.domain)->assign(agreed);
  assigned_ = true;
  return domains_;
}

}  // namespace forebay::mpiio
