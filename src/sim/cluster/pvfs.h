// A parallel file system like PVFS 2: files in strips over the servers, without locks and without a
// cache at the clients. A request names many extents (list I/O). The bytes of a small write travel
// with its request; others flow through a fixed number of buffers at each end.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "extent/extent.h"
#include "sim/cluster/kernel.h"
#include "sim/cluster/network.h"
#include "sim/cluster/process.h"
#include "sim/cluster/server_storage.h"

namespace forebay::sim {

struct PvfsProfile {
  int64_t strip_bytes = 64 << 10;
  int64_t flow_buffer_bytes = 256 << 10;
  int64_t flow_buffers = 8;          // at each end of a flow
  int64_t carried_bytes = 16 << 10;  // a write of at most so many bytes travels with its request
  int64_t extents_a_request = 64;    // list I/O names at most so many
  int64_t request_bytes = 128;       // a request without extents and bytes
  int64_t extent_bytes = 16;         // what an extent adds to it
  Picoseconds request_time = 0;      // a server's work for a request, besides its storage
  // A client's work for an open.
  Picoseconds open = 0;
  // The servers' mean times.
  Picoseconds create_directory_entry = 0, create_data_file = 0, create_metadata = 0;
  Picoseconds get_attributes = 0, lookup = 0;
};

// What a server has done.
struct PvfsServerCounts {
  int64_t requests = 0, read_bytes = 0, written_bytes = 0;
  Picoseconds busy = 0;  // with requests, besides storage
};

class Pvfs {
 public:
  // Clients are the network's hosts from 0 on; server s is host `first_server` + s.
  Pvfs(Kernel& kernel, Network& network, const PvfsProfile& profile, uint32_t first_server,
       std::span<ServerStorage* const> servers);
  ~Pvfs();

  uint32_t servers() const { return static_cast<uint32_t>(servers_.size()); }

  // Called by a process, which waits.
  void create(uint32_t client, uint64_t file);
  void open(uint32_t client, uint64_t file);

  // Reads or writes extents of a file; `done` happens when all of it has ended.
  void access(uint32_t client, uint64_t file, bool writes, std::span<const Extent> extents,
              Then done);
  // The file's size, known without a message.
  int64_t size(uint64_t file) const;
  // The file has so many bytes before the simulation begins; they are on the servers' devices.
  void place(uint64_t file, int64_t bytes);
  // All servers have what they cache of a file on their devices.
  void flush(uint64_t file, Then done);

  const PvfsServerCounts& counts(uint32_t server) const { return servers_[server].counts; }
  int64_t requests() const { return requests_; }

 private:
  class Call;
  class Flow;
  class Access;
  struct Server {
    ServerStorage* storage;
    Picoseconds free_at = 0;  // from when on it can work at another request
    PvfsServerCounts counts;
  };
  void set_size(uint64_t file, int64_t bytes);
  uint32_t host_of(uint32_t server) const { return first_server_ + server; }
  uint32_t metadata_server(uint64_t file) const { return static_cast<uint32_t>(file % servers()); }
  // The server's work for a request begins when it is free, and ends with `then`.
  void work(uint32_t server, Picoseconds time, Then then);
  void call(uint32_t client, uint32_t server, int64_t request, Picoseconds time, int64_t response);
  Access& take_access(int64_t requests, Then done);
  Flow& take_flow();

  Kernel& kernel_;
  Network& network_;
  PvfsProfile profile_;
  uint32_t first_server_;
  std::vector<Server> servers_;
  std::vector<int64_t> sizes_;  // by file
  int64_t requests_ = 0;
  // Those that are not under way are used again.
  std::vector<std::unique_ptr<Access>> accesses_;
  std::vector<std::unique_ptr<Flow>> flows_;
  std::vector<Access*> free_accesses_;
  std::vector<Flow*> free_flows_;
};

}  // namespace forebay::sim
