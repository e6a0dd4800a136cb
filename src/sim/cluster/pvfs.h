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
#include "sim/cluster/file_system.h"
#include "sim/cluster/kernel.h"
#include "sim/cluster/recycled.h"

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

class Pvfs final : public FileSystem {
 public:
  // As for FileSystem.
  Pvfs(Kernel& kernel, Network& network, const PvfsProfile& profile, uint32_t first_server,
       std::span<ServerStorage* const> servers);
  ~Pvfs() override;

  void create(uint32_t client, uint64_t file) override;
  void open(uint32_t client, uint64_t file) override;
  void close(uint32_t, uint64_t) override {}

  void access(uint32_t client, uint64_t file, bool writes, std::span<const Extent> extents,
              Then done) override;
  void place(uint64_t file, int64_t bytes) override;
  Striping striping() const override { return {profile_.strip_bytes, servers()}; }

 private:
  class Flow;
  class Access;
  uint32_t metadata_server(uint64_t file) const { return static_cast<uint32_t>(file % servers()); }

  struct Begun {
    Flow* flow;
    uint32_t server;
  };
  // Lets the extents join the requests of an access, one or more for each server.
  void divide(std::span<const Extent> extents);

  PvfsProfile profile_;
  Recycled<Access> accesses_;
  Recycled<Flow> flows_;
  std::vector<Begun> begun_;   // the requests of the access that begins
  std::vector<Flow*> joined_;  // by server: the last one of them, or null
};

}  // namespace forebay::sim
