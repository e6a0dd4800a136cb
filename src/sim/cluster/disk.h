// A rotating disk: an arm over platters, a queue with a scheduler, and the drive's own cache. The
// model follows Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3),
// 1994: seek time grows with the square root of a short distance and linearly with a long one, the
// angle of the platter follows from the clock, and the drive reads ahead while it is idle.
//
// Not modelled: more than one read-ahead at a time, reads of data that waits in the write cache,
// thermal recalibration, bad sectors, and a choice of requests by rotational position.
#pragma once

#include <cstdint>
#include <deque>
#include <memory_resource>
#include <set>
#include <vector>

#include "sim/cluster/block_device.h"

namespace forebay::sim {

// Which request is next when the arm is free.
enum class DiskScheduler {
  fcfs,      // the oldest
  sstf,      // the one with the shortest seek; a distant request may starve
  elevator,  // the next one towards the end of the disk, then from its start again (C-LOOK);
             // requests that follow each other on the disk are merged
};

struct DiskZone {
  int64_t cylinders = 0;
  int64_t sectors_per_track = 0;
};

struct DiskProfile {
  static constexpr int64_t sector_bytes = 512;

  std::vector<DiskZone> zones;  // from the outer edge, where the first sector is
  int64_t heads = 2;            // tracks of a cylinder
  double revolutions_per_minute = 7200;
  Picoseconds read_seek_mean = 0, write_seek_mean = 0;  // over pairs of random cylinders
  Picoseconds track_to_track = 0;                       // a seek to the next cylinder
  Picoseconds head_switch = 0;                          // to another track of the cylinder
  Picoseconds controller_overhead = 0;                  // of each request of the host
  double interface_bytes_per_second = 150e6;
  int64_t track_cache_bytes = 0;  // half of it is for what lies ahead of a read; 0: none
  bool write_cache = false;       // a write is done once the drive has its data (half of the cache)
  DiskScheduler scheduler = DiskScheduler::elevator;

  int64_t cylinders() const;
  int64_t bytes() const;
};

// The drive of the published study: a Western Digital WD800JD of 80 GB.
DiskProfile wd800jd();
// The disk as the study's own simulator was configured: a small and slow one.
DiskProfile published_simulator_disk();

// Seek time by distance in cylinders: a + b * sqrt(distance) up to a third of the cylinders, linear
// above and without a bend. Fitted to the time of the shortest seek and to the mean.
class SeekCurve {
 public:
  SeekCurve(int64_t cylinders, Picoseconds track_to_track, Picoseconds mean);
  Picoseconds operator()(int64_t distance) const;

 private:
  double shape(int64_t distance) const;

  double bend_;  // distance from which the curve is a line
  double shortest_;
  double factor_ = 0;
};

class Disk final : public BlockDevice, private Event {
 public:
  Disk(Kernel& kernel, DiskProfile profile);
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  void submit(bool writes, Extent place, Then done) override;
  const DeviceCounts& counts() const override { return counts_; }
  Picoseconds worked() const override {
    return counts_.busy - (busy_ ? busy_until_ - kernel_.now() : 0);
  }
  uint64_t requests() const override { return queue_.size() + serving_.size() + for_cache_.size(); }
  int64_t bytes() const override { return sectors_ * DiskProfile::sector_bytes; }

  const DiskProfile& profile() const { return profile_; }

 private:
  struct Request {
    int64_t key;  // the first sector; the same for all if the oldest is always next
    uint64_t order;
    int64_t first = 0, end = 0;  // sectors
    bool writes = false;
    bool cached = false;  // a write that goes through the drive's cache
    Then done{};
    int64_t bytes() const { return (end - first) * DiskProfile::sector_bytes; }
    bool operator<(const Request& other) const {
      return key != other.key ? key < other.key : order < other.order;
    }
  };
  using Queue = std::pmr::set<Request>;

  // Imagine that the disk is read from its first sector to its last without a pause. A sector's
  // pass is the time when it would begin. Tracks are skewed so that the head is over the next
  // track's first sector just when it has moved there. Hence a sector is under its head whenever
  // the clock equals its pass modulo a revolution, and the difference of two passes is the time of
  // a sequential transfer.
  struct Zone {
    int64_t first_sector, first_cylinder, sectors_per_track;
    Picoseconds first_pass;
  };
  struct Position {
    int64_t cylinder, head;
    Picoseconds pass;      // begin of the sector
    Picoseconds pass_end;  // end of the sector
  };
  // What the drive's cache holds: sectors from `begin` to `limit`. While `reading`, the drive reads
  // on: it began with sector `from` at time `since`, and is to stop at the limit.
  struct Ahead {
    int64_t begin = 0, limit = 0, from = 0;
    Picoseconds since = 0;
    bool reading = false;
  };

  void happen(uint64_t) override;
  void fill_write_cache();
  void start_next();
  Queue::iterator choose();
  Queue::iterator nearest();
  void merge_followers(Request& into);

  Picoseconds serve(const Request& request);
  Picoseconds serve_by_arm(const Request& request, Picoseconds begin);
  // The time when the read is in the cache. `begin`: when a drive that has stopped may read on.
  Picoseconds cached_at(const Request& request, Picoseconds begin);
  void stop_reading_ahead();
  void forget(int64_t first, int64_t end);

  const Zone& zone_of_sector(int64_t sector) const;
  Position position(int64_t sector) const;
  int64_t sector_of_pass(Picoseconds pass) const;
  Picoseconds seek(bool writes, const Position& to) const;
  Picoseconds wait_for_pass(Picoseconds pass, Picoseconds from) const;

  Kernel& kernel_;
  DiskProfile profile_;
  SeekCurve read_seek_, write_seek_;
  Picoseconds revolution_, cylinder_time_;
  std::vector<Zone> zones_;
  int64_t sectors_ = 0;

  std::pmr::unsynchronized_pool_resource memory_;
  Queue queue_{&memory_};                         // what the arm is to do
  std::pmr::deque<Request> for_cache_{&memory_};  // writes that wait for room in the drive's cache
  uint64_t submitted_ = 0;
  bool busy_ = false;
  Picoseconds busy_until_ = 0;
  std::vector<Then> serving_;   // what is to happen when the request under way is done
  int64_t serving_cached_ = 0;  // bytes of the write cache that it will free
  int64_t cached_writes_ = 0;   // bytes
  Picoseconds link_free_ = 0;   // when the interface has taken all cached writes
  int64_t arm_cylinder_ = 0, arm_head_ = 0;
  int64_t arm_sector_ = 0;  // the first one after the last request
  Ahead ahead_;
  DeviceCounts counts_;
};

}  // namespace forebay::sim
