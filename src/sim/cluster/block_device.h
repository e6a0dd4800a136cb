// A block device of a simulated server: a disk, a flash drive or a RAID group. It carries no data,
// only the time that requests take.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "extent/extent.h"
#include "sim/cluster/kernel.h"

namespace forebay::sim {

struct DeviceCounts {
  uint64_t reads = 0, writes = 0;  // requests that were submitted
  int64_t read_bytes = 0, written_bytes = 0;
  Picoseconds busy = 0;        // time with a request under way
  uint64_t seeks = 0;          // arm movements; none but a disk has any
  uint64_t longest_queue = 0;  // requests that waited or were under way at the same time
};

class BlockDevice {
 public:
  virtual ~BlockDevice() = default;

  // Reads or writes `place`, which lies within the device. `done` happens once, later, and never
  // within this call. Throws std::out_of_range if the place lies outside.
  virtual void submit(bool writes, Extent place, Then done) = 0;
  virtual const DeviceCounts& counts() const = 0;
  virtual Picoseconds worked() const = 0;  // time with a request under way, until now
  virtual uint64_t requests() const = 0;   // that wait or are under way
  virtual int64_t bytes() const = 0;       // the capacity

 protected:
  BlockDevice() = default;
  BlockDevice(const BlockDevice&) = default;
  BlockDevice& operator=(const BlockDevice&) = default;
};

// For devices: refuses a place outside `capacity` bytes, and counts the request.
inline void accept_request(DeviceCounts& counts, int64_t capacity, bool writes, Extent place) {
  if (place.offset < 0 || place.length < 0 || place.end() > capacity) {
    throw std::out_of_range("a request for bytes " + std::to_string(place.offset) + " to " +
                            std::to_string(place.end()) + " of a device of " +
                            std::to_string(capacity) + " bytes");
  }
  ++(writes ? counts.writes : counts.reads);
  (writes ? counts.written_bytes : counts.read_bytes) += place.length;
}

}  // namespace forebay::sim
