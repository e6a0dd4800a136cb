// A parallel file system like PVFS 2: files in strips over the servers, without locks and without a
// cache at the clients. A request names many extents (list I/O). The bytes of a small write travel
// with its request; others flow through a fixed number of buffers at each end.
//
// A file has a part on every server, and its attributes on one of them; a directory is on one
// server. So making, removing and measuring a file concerns all servers. Either the client asks
// each, or it asks one, and the servers pass the request on along a binary tree (Settlemyer 2009,
// section 3.3).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "extent/extent.h"
#include "sim/cluster/file_system.h"
#include "sim/cluster/kernel.h"
#include "sim/cluster/metadata.h"
#include "sim/cluster/pvfs_layout.h"
#include "sim/cluster/recycled.h"

namespace forebay::sim {

struct PvfsProfile {
  int64_t strip_bytes = 64 << 10;
  std::vector<int64_t> strips;  // of files, by number; 0, or none: strip_bytes
  int64_t group_servers = 0;    // pvfs_layout.h
  int64_t unit_bytes = 64 << 10;
  int64_t flow_buffer_bytes = 256 << 10;
  int64_t flow_buffers = 8;          // at each end of a flow
  int64_t carried_bytes = 16 << 10;  // a write of at most so many bytes travels with its request
  int64_t extents_a_request = 64;    // list I/O names at most so many
  int64_t request_bytes = 128;       // a request without extents and bytes
  int64_t extent_bytes = 16;         // what an extent adds to it
  Picoseconds request_time = 0;      // a server's work for a request, besides its storage
  // A client's work for calls.
  Picoseconds open = 0, stat = 0, utime = 0, mkdir = 0, readdir = 0, unlink = 0;
  bool driven_by_servers = false;  // what concerns all servers of a file
  int64_t entries_a_readdir = 32;  // that a response has, at most
  // The servers' mean times.
  Picoseconds create_directory_entry = 0, create_data_file = 0, create_metadata = 0;
  Picoseconds get_attributes = 0, set_attributes = 0, lookup = 0, read_directory = 0;
  Picoseconds remove_directory_entry = 0, remove_metadata = 0, remove_object = 0;
};

class Pvfs final : public FileSystem, public Metadata {
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
  Striping striping() const override { return {layout_.part_bytes(), layout_.parts(), false}; }

  void make_directory(uint32_t client, const Named& made) override;
  void create_file(uint32_t client, const Named& made) override;
  void set_attributes(uint32_t client, const Named& of) override;
  void get_attributes(uint32_t client, const Named& of) override;
  void read_directory(uint32_t client, uint64_t directory, int64_t entries) override;
  void remove_file(uint32_t client, const Named& removed) override;
  void remove_directory(uint32_t client, const Named& removed) override;
  void forget(uint32_t client) override;

 private:
  class Flow;
  class Access;
  class Collective;
  uint32_t metadata_server(uint64_t object) const;

  // Metadata. Called by a process, which waits.
  Operation operation(Picoseconds time, int64_t response_bytes) const {
    return {profile_.request_bytes, time, response_bytes};
  }
  void make_file(uint32_t client, const Named& made);
  void find(uint32_t client, const Named& named);
  void need_attributes(uint32_t client, uint64_t directory);
  void ask_all(uint32_t client, const Operation& operation);
  void pass_on(uint32_t root, const Operation& operation, bool gathers, uint32_t busier = 0,
               Picoseconds more = 0);
  void travel(uint32_t from, uint32_t to, int64_t bytes);
  template <typename Steps>
  void let_servers(uint32_t client, uint32_t server, int64_t answer_bytes, const Steps& steps);
  std::vector<bool>::reference known(uint32_t client, uint64_t object);

  struct Begun {
    Flow* flow;
    uint32_t server;
  };
  PvfsLayout layout_of(uint64_t file) const;
  // Lets the extents join the requests of an access, one or more for each server.
  void divide(const PvfsLayout& layout, std::span<const Extent> extents);

  PvfsProfile profile_;
  const PvfsLayout layout_;  // of files without strips of their own
  Recycled<Access> accesses_;
  Recycled<Flow> flows_;
  Recycled<Collective> collectives_;
  std::vector<std::vector<bool>> known_;  // by client and object, the root first
  std::vector<Begun> begun_;              // the requests of the access that begins
  std::vector<Flow*> joined_;             // by server: the last one of them, or null
};

}  // namespace forebay::sim
