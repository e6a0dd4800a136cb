// An NVMe flash drive: several channels of flash memory behind one interface.
//
// The drive's pages lie on its channels in turn: page n is on channel n modulo their number. A
// request uses every channel that holds some of its pages, and each channel moves one page after
// the other. Reading and programming of the cells overlaps with transfers. Not modelled: garbage
// collection and the drive's own caches.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cluster/block_device.h"

namespace forebay::sim {

struct FlashProfile {
  int64_t bytes = int64_t{1} << 40;
  int64_t page_bytes = 4096;
  Picoseconds read_latency = 80 * microsecond;   // of one page, alone: all that it takes
  Picoseconds write_latency = 20 * microsecond;  // of one page, alone
  int64_t channels = 8;
  double channel_bytes_per_second = 500e6;
  double interface_bytes_per_second = 3.5e9;
  int64_t queue_depth = 1024;  // requests under way; others wait in order
};

class Flash final : public BlockDevice, private Event {
 public:
  Flash(Kernel& kernel, const FlashProfile& profile);
  Flash(const Flash&) = delete;
  Flash& operator=(const Flash&) = delete;

  void submit(bool writes, Extent place, Then done) override;
  const DeviceCounts& counts() const override { return counts_; }
  Picoseconds worked() const override {
    return counts_.busy + (under_way_ > 0 ? kernel_.now() - busy_since_ : 0);
  }
  uint64_t requests() const override { return static_cast<uint64_t>(waiting_ + under_way_); }
  int64_t bytes() const override { return profile_.bytes; }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  struct Request {
    Extent place;
    Then done;
    bool writes;
    uint32_t next;  // in the queue, or of the free ones
  };

  void happen(uint64_t request) override;
  void start(uint32_t request);

  Kernel& kernel_;
  FlashProfile profile_;
  std::vector<Picoseconds> channel_free_;  // when each channel has moved all that it has to
  Picoseconds interface_free_ = 0;
  std::vector<Request> requests_;
  uint32_t free_ = none, first_waiting_ = none, last_waiting_ = none;
  int64_t waiting_ = 0, under_way_ = 0;
  Picoseconds busy_since_ = 0;
  DeviceCounts counts_;
};

}  // namespace forebay::sim
