#include "sim/cluster/file_system.h"

#include <algorithm>

namespace forebay::sim {

// A request for metadata, and its response.
class FileSystem::Call final : public Event {
 public:
  Call(FileSystem& system, uint32_t client, uint32_t server, Picoseconds time, int64_t response)
      : system_(system), client_(client), server_(server), time_(time), response_(response) {}
  // Called by a process, which waits.
  void make(int64_t request) {
    const Picoseconds began = system_.kernel_.now();
    const uint32_t host = system_.host_of(server_);
    system_.network_.send(client_, host, request, {this, arrived});
    answered_.wait();
    system_.waits_.add(client_, host, Waiting::request, system_.kernel_.now() - began);
  }
  void happen(uint64_t word) override {
    if (word == arrived) return system_.work(server_, time_, {this, served});
    ++system_.servers_[server_].counts.requests;
    system_.network_.send(system_.host_of(server_), client_, response_, answered_.then());
  }

 private:
  enum : uint64_t { arrived, served };
  FileSystem& system_;
  uint32_t client_, server_;
  Picoseconds time_;
  int64_t response_;
  Completion answered_;
};

FileSystem::FileSystem(Kernel& kernel, Network& network, uint32_t first_server,
                       std::span<ServerStorage* const> servers)
    : kernel_(kernel),
      network_(network),
      first_server_(first_server),
      io_servers_(static_cast<uint32_t>(servers.size())) {
  for (ServerStorage* const storage : servers) servers_.push_back({storage, 0, {}});
}

int64_t FileSystem::size(uint64_t file) const {
  return file < sizes_.size() ? sizes_[static_cast<std::size_t>(file)] : 0;
}

void FileSystem::set_size(uint64_t file, int64_t bytes) {
  if (file >= sizes_.size()) sizes_.resize(static_cast<std::size_t>(file) + 1);
  sizes_[static_cast<std::size_t>(file)] = bytes;
}

void FileSystem::work(uint32_t server, Picoseconds time, Then then) {
  Server& working = servers_[server];
  working.free_at = std::max(working.free_at, kernel_.now()) + time;
  working.counts.busy += time;
  kernel_.at(working.free_at, then);
}

void FileSystem::call(uint32_t client, uint32_t server, int64_t request, Picoseconds time,
                      int64_t response) {
  Call(*this, client, server, time, response).make(request);
}

}  // namespace forebay::sim
