// A file system of which only the times are known that a node's processes see: those that
// `forebay simulate cluster --measure` finds on a real one. It has no servers, caches or messages
// of its own.
//
// A request takes its time alone. Requests of a node that come together go through one door, each
// way: it takes a time for each, and lets so many bytes a second through. A second door is that of
// all nodes.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/cluster/file_system.h"

namespace forebay::sim {

// Of reads, or of writes. Rates are in bytes a second.
struct MeasuredTimes {
  Picoseconds alone = 0;  // of a request without its bytes, where no other is under way
  double alone_rate = 1e9;
  Picoseconds together = 0;  // what a request adds to the work of its node's door
  double together_rate = 1e9;
};

struct MeasuredProfile {
  MeasuredTimes write;
  MeasuredTimes read;           // of a file that was there before the job
  MeasuredTimes read_written;   // of what the node has written since it has had the file open
  MeasuredTimes read_reopened;  // of other bytes that the job has written
  Picoseconds create = 0, open = 0, close = 0;
  Picoseconds lock = 0;          // of a range of bytes, and its end
  double close_rate = 0;         // of the bytes that the node has written to the file; 0: no time
  double full_speed_nodes = 1;   // so many nodes together are served as fast as each is alone
  int64_t requests_at_once = 4;  // of one access
};

class MeasuredFileSystem final : public FileSystem {
 public:
  // As for FileSystem; the first server's counts are those of the door of all nodes.
  MeasuredFileSystem(Kernel& kernel, Network& network, const MeasuredProfile& profile,
                     uint32_t first_server, std::span<ServerStorage* const> servers);

  void create(uint32_t client, uint64_t file) override;
  void open(uint32_t client, uint64_t file) override;
  void close(uint32_t client, uint64_t file) override;
  void access(uint32_t client, uint64_t file, bool writes, std::span<const Extent> extents,
              Then done) override;
  void place(uint64_t file, int64_t bytes) override;
  Picoseconds lock_time() const override { return profile_.lock; }
  Striping striping() const override { return {}; }

 private:
  // When each door is free: of reads, of writes.
  struct Doors {
    Picoseconds free_at[2] = {};
  };
  // A file as a node has it.
  struct Kept {
    int64_t handles = 0;
    bool written = false;   // since it has had the file open
    int64_t unflushed = 0;  // bytes
  };
  const MeasuredTimes& times_of(const Kept& kept, uint64_t file, bool writes) const;
  Picoseconds request(uint32_t client, bool writes, int64_t bytes, const MeasuredTimes& times,
                      Picoseconds begins);

  MeasuredProfile profile_;
  std::vector<Doors> nodes_;
  Doors all_;
  Picoseconds busy_[2] = {};                 // of that door, by direction
  std::unordered_map<uint64_t, Kept> kept_;  // by node and file
  std::vector<bool> placed_;                 // by file
};

}  // namespace forebay::sim
