#include "sim/cluster/measured_file_system.h"

#include <algorithm>
#include <utility>

namespace forebay::sim {
namespace {

uint64_t key_of(uint32_t client, uint64_t file) { return uint64_t{client} << 32 | file; }

}  // namespace

MeasuredFileSystem::MeasuredFileSystem(Kernel& kernel, Network& network,
                                       const MeasuredProfile& profile, uint32_t first_server,
                                       std::span<ServerStorage* const> servers)
    : FileSystem(kernel, network, first_server, servers), profile_(profile), nodes_(first_server) {}

void MeasuredFileSystem::create(uint32_t, uint64_t file) {
  Process::current()->sleep(profile_.create);
  set_size(file, 0);
}

void MeasuredFileSystem::open(uint32_t client, uint64_t file) {
  Process::current()->sleep(profile_.open);
  ++kept_[key_of(client, file)].handles;
}

// The first of a node's processes to close the file waits for what all have written to it.
void MeasuredFileSystem::close(uint32_t client, uint64_t file) {
  Kept& kept = kept_[key_of(client, file)];
  Picoseconds time = profile_.close;
  if (profile_.close_rate > 0) time += time_of(kept.unflushed, profile_.close_rate);
  kept.unflushed = 0;
  if (--kept.handles == 0) kept.written = false;
  Process::current()->sleep(time);
}

void MeasuredFileSystem::place(uint64_t file, int64_t bytes) {
  set_size(file, bytes);
  if (file >= placed_.size()) placed_.resize(static_cast<std::size_t>(file) + 1);
  placed_[static_cast<std::size_t>(file)] = true;
}

const MeasuredTimes& MeasuredFileSystem::times_of(const Kept& kept, uint64_t file,
                                                  bool writes) const {
  if (writes) return profile_.write;
  if (file < placed_.size() && placed_[static_cast<std::size_t>(file)]) return profile_.read;
  return kept.written ? profile_.read_written : profile_.read_reopened;
}

// Returns when it ends.
Picoseconds MeasuredFileSystem::request(uint32_t client, bool writes, int64_t bytes,
                                        const MeasuredTimes& times, Picoseconds begins) {
  const Picoseconds work = times.together + time_of(bytes, times.together_rate);
  const auto share =
      static_cast<Picoseconds>(static_cast<double>(work) / profile_.full_speed_nodes);
  Picoseconds& node = nodes_[client].free_at[writes];
  Picoseconds& all = all_.free_at[writes];
  node = std::max(node, begins) + work;
  all = std::max(all, begins) + share;
  FileServerCounts& counts = servers_[0].counts;
  ++counts.requests;
  ++requests_;
  (writes ? counts.written_bytes : counts.read_bytes) += bytes;
  busy_[writes] += share;
  counts.busy = std::max(busy_[false], busy_[true]);  // reads and writes do not wait for each other
  return std::max({begins + times.alone + time_of(bytes, times.alone_rate), node, all});
}

void MeasuredFileSystem::access(uint32_t client, uint64_t file, bool writes,
                                std::span<const Extent> extents, Then done) {
  Kept& kept = kept_[key_of(client, file)];
  const MeasuredTimes& times = times_of(kept, file, writes);
  std::vector<Picoseconds> lanes(static_cast<std::size_t>(profile_.requests_at_once),
                                 kernel_.now());
  Picoseconds end = kernel_.now();
  int64_t bytes = 0;
  for (const Extent& extent : extents) {
    Picoseconds& lane = *std::ranges::min_element(lanes);
    lane = request(client, writes, extent.length, times, lane);
    end = std::max(end, lane);
    bytes += extent.length;
    if (writes && extent.end() > size(file)) set_size(file, extent.end());
  }
  if (writes) {
    kept.written = true;
    kept.unflushed += bytes;
  }
  waits_.add(client, host_of(0), Waiting::request, end - kernel_.now());
  kernel_.at(end, done);
}

}  // namespace forebay::sim
