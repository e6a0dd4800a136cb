#include "sim/cluster/file_system.h"

#include <algorithm>

namespace forebay::sim {

// A request for metadata, and its response.
class FileSystem::Call final : public Event {
 public:
  explicit Call(FileSystem& system) : system_(system) {}
  void begin(uint32_t host, uint32_t server, const Operation& operation, Then answered) {
    asking_ = host;
    server_ = server;
    operation_ = operation;
    answered_ = answered;
    began_ = system_.kernel_.now();
    if (is_local()) return happen(arrived);
    system_.network_.send(host, system_.host_of(server), operation.request_bytes, {this, arrived});
  }
  void happen(uint64_t word) override {
    switch (word) {
      case arrived:
        return system_.work(server_, operation_.time, {this, served});
      case served:
        ++system_.servers_[server_].counts.requests;
        if (is_local()) return end();
        return system_.network_.send(system_.host_of(server_), asking_, operation_.response_bytes,
                                     {this, ended});
      default:
        system_.waits_.add(asking_, system_.host_of(server_), Waiting::request,
                           system_.kernel_.now() - began_);
        return end();
    }
  }

 private:
  enum : uint64_t { arrived, served, ended };
  bool is_local() const { return asking_ == system_.host_of(server_); }
  void end() {
    const Then answered = answered_;
    system_.calls_.give_back(*this);
    answered.happen();
  }

  FileSystem& system_;
  uint32_t asking_ = 0, server_ = 0;
  Operation operation_{};
  Then answered_;
  Picoseconds began_ = 0;
};

FileSystem::FileSystem(Kernel& kernel, Network& network, uint32_t first_server,
                       std::span<ServerStorage* const> servers)
    : kernel_(kernel),
      network_(network),
      first_server_(first_server),
      io_servers_(static_cast<uint32_t>(servers.size())) {
  for (ServerStorage* const storage : servers) servers_.push_back({storage, 0, {}});
}
FileSystem::~FileSystem() = default;

int64_t FileSystem::size(uint64_t file) const {
  return file < sizes_.size() ? sizes_[static_cast<std::size_t>(file)] : 0;
}

int64_t FileSystem::writes(uint64_t file) const {
  return file < writes_.size() ? writes_[static_cast<std::size_t>(file)] : 0;
}

void FileSystem::count_write(uint64_t file) {
  if (file >= writes_.size()) writes_.resize(static_cast<std::size_t>(file) + 1);
  ++writes_[static_cast<std::size_t>(file)];
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

void FileSystem::ask(uint32_t host, uint32_t server, const Operation& operation, Then answered) {
  calls_.take(*this).begin(host, server, operation, answered);
}

void FileSystem::call(uint32_t host, uint32_t server, const Operation& operation) {
  Completion answered;
  ask(host, server, operation, answered.then());
  answered.wait();
}

}  // namespace forebay::sim
