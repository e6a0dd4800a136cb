// The operating system of a simulated server, as far as storage is concerned: objects (files of the
// server), their extents on a block device, and a cache of blocks in memory with write-back and
// read-ahead, as Linux has them.
//
// An object gets its place on the device when its blocks are first written back, so that a batch of
// new blocks becomes one extent. It grows where it ends as long as the space there is free; objects
// begin far from each other. The least recently used clean block makes room for another. A block
// counts as used when it is read, and when it has been written back.
//
// A device without a free block ends the run: std::length_error comes out of Kernel::run().
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/cluster/block_device.h"
#include "sim/cluster/free_space.h"
#include "sim/cluster/server_cache.h"

namespace forebay::sim {

struct ServerProfile {
  int64_t block_bytes = 4096;
  int64_t cache_bytes = int64_t{1} << 30;
  double dirty_threshold = 0.90;  // share of the cache; writers wait while so much is not on disk
  Picoseconds system_call = 2 * microsecond;  // processor time of each call
  double copy_bytes_per_second = 3e9;         // between the caller and the cache
  int64_t read_ahead_bytes = 128 << 10;       // the largest window; 0: none
  // Every interval, objects that have been dirty for `write_back_expire` are written back.
  // 0: blocks are only written back at the threshold and by flush().
  Picoseconds write_back_interval = 0, write_back_expire = 0;
};

struct StorageCounts {
  uint64_t reads = 0, writes = 0, flushes = 0;  // calls
  int64_t read_bytes = 0, written_bytes = 0;    // by calls
  uint64_t hits = 0, misses = 0;                // blocks that read calls asked for
  uint64_t blocks_read_to_write = 0;            // because a write covered them in part
  uint64_t blocks_read_ahead = 0;
  uint64_t blocks_written_back = 0;
  uint64_t device_reads = 0, device_writes = 0;  // requests
  uint64_t waits = 0;                            // of calls for room in the cache
  int64_t dirty_peak_bytes = 0;
};

// Consecutive blocks of an object that follow each other on the device. All in blocks.
struct BlockRun {
  int64_t first = 0;  // in the object
  int64_t length = 0;
  int64_t device = 0;  // where the first one is
  int64_t end() const { return first + length; }
};

class ServerStorage final : private Event {
 public:
  // `device` is for this server alone and outlives it. Calls may overlap. Their processor time is
  // that of one processor.
  ServerStorage(Kernel& kernel, BlockDevice& device, const ServerProfile& profile);
  ServerStorage(const ServerStorage&) = delete;
  ServerStorage& operator=(const ServerStorage&) = delete;

  // Writes into the cache. Waits for write-back while the dirty threshold is reached. Blocks that
  // it covers in part, that are on the device and not in the cache are read first. An object holds
  // at most 2^32 - 1 blocks.
  void write(uint64_t object, Extent place, Then done);
  // Bytes beyond the object's end are not read.
  void read(uint64_t object, Extent place, Then done);
  // Done once the object has no block that is not on the device, later writes included.
  void flush(uint64_t object, Then done);

  // These take no time.
  int64_t size(uint64_t object) const;
  void truncate(uint64_t object, int64_t bytes);
  void remove(uint64_t object);  // a write under way makes the object anew
  void drop_caches();            // clean blocks only
  // An object of at least so many bytes, on the device and not cached: a file that was there before
  // the run.
  void lay_out(uint64_t object, int64_t bytes);

  const StorageCounts& counts() const { return counts_; }
  const ServerProfile& profile() const { return profile_; }
  // Where an object is on the device.
  std::vector<BlockRun> runs(uint64_t object) const;

 private:
  static constexpr uint32_t none = ServerCache::none;
  using State = ServerCache::State;

  struct Object {
    int64_t size = 0;
    std::vector<BlockRun> runs;  // by first block
    ServerCache::List dirty;
    int64_t unwritten = 0;  // blocks that are dirty or being written
    // Objects with dirty blocks are in a list, in the order of becoming dirty.
    uint32_t previous_dirty = none, next_dirty = none;
    bool in_dirty_list = false;
    bool in_flush_queue = false;
    Picoseconds dirty_since = 0;
    int64_t turn_blocks = 0;        // written back since another object was
    uint32_t flush_waiters = none;  // calls
    int64_t next_read = 0;          // the block after the last read
    int64_t window = 0;             // read-ahead, blocks
    int64_t ahead_end = 0;          // blocks before it have been asked for
  };
  enum class Kind : uint8_t { read, write, flush };
  struct Call {
    Then done;
    uint64_t object = 0;
    Extent place;
    int64_t cursor = 0;    // bytes before it have been dealt with
    uint32_t pending = 0;  // requests that it waits for
    uint32_t next = none;  // in a queue, or of the free ones
    Kind kind = Kind::read;
  };
  // A request to the device for consecutive blocks.
  struct Request {
    uint32_t object, first, count;
    uint32_t waiters;  // of a read; the last one first
    uint32_t next;     // of the free ones
    bool writes;
  };
  struct Waiter {
    uint32_t call, next;
  };

  void happen(uint64_t word) override;

  uint32_t object_of(uint64_t id) const;  // or none
  uint32_t object_made(uint64_t id);

  uint32_t begin(Kind kind, uint64_t object, Extent place, Then done);
  void finish(uint32_t call);
  void proceed(uint32_t call);
  void proceed_read(uint32_t call);
  void proceed_write(uint32_t call);
  // Writes the part of one block at the cursor. False: the call must wait, and does.
  bool write_block(uint32_t call, uint32_t object, int64_t block, int64_t end);
  bool must_fill(const Object& object, int64_t block, Extent place) const;
  bool fill_edges(uint32_t call, uint32_t object);
  void read_ahead(uint32_t object, int64_t first, int64_t end);

  // Begins to read consecutive blocks that are not cached, as many as possible of up to `most`.
  // Returns how many; `request` becomes none if nothing is on the device.
  int64_t fill(uint32_t object, int64_t first, int64_t most, uint32_t& request);
  void wait_for(uint32_t request, uint32_t call);
  void filled(uint32_t request);

  void wait_for_room(uint32_t call);
  void wake_for_room();

  void make_dirty(uint32_t object, uint32_t frame);
  void leave_dirty_list(uint32_t object);
  void written(uint32_t object);  // one block less is not on the device
  void write_back();
  uint32_t next_to_write();
  void write_batch(uint32_t object);
  void write_run(uint32_t object, BlockRun run);
  void written_back(uint32_t request);
  void expire();

  BlockRun run_at(const Object& object, int64_t block) const;
  BlockRun place_run(uint32_t object, int64_t block, int64_t most);
  void forget_blocks(uint32_t object, int64_t first);
  void forget_frame(uint32_t frame);
  void free_space_from(Object& object, int64_t first);

  uint32_t new_request(uint32_t object, BlockRun run, bool writes);
  void submit(uint32_t request, BlockRun run);

  Kernel& kernel_;
  BlockDevice& device_;
  ServerProfile profile_;
  FreeSpace space_;
  ServerCache cache_;
  int64_t dirty_limit_;  // blocks
  int64_t batch_blocks_;

  std::unordered_map<uint64_t, uint32_t> object_numbers_;
  std::vector<Object> objects_;
  std::vector<uint32_t> free_objects_;
  std::vector<Call> calls_;
  uint32_t free_call_ = none;
  std::vector<Request> requests_;
  uint32_t free_request_ = none;
  std::vector<Waiter> waiters_;
  uint32_t free_waiter_ = none;

  uint32_t first_for_room_ = none, last_for_room_ = none;  // calls that wait for room
  bool waking_ = false;
  uint32_t first_dirty_ = none, last_dirty_ = none;  // objects
  std::vector<uint32_t> flush_queue_;                // objects
  int64_t unwritten_ = 0, writing_ = 0;              // blocks
  int64_t writes_under_way_ = 0;                     // requests
  bool pressing_ = false;     // the threshold was reached, and not enough has been written since
  Picoseconds expired_ = -1;  // objects that were dirty by then are to be written
  bool timer_set_ = false;
  Picoseconds processor_free_ = 0;
  StorageCounts counts_;
};

}  // namespace forebay::sim
