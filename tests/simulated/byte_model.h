// What a file's bytes may be. A byte has one writer at a time; its writes are numbered from 1 (0:
// as the file began), and its value tells which of them it was. A read may bring any write between
// the last that had ended when the read began and the last that had begun when the read ended.
// Across nodes, it is the last that had ended when the nodes last handed their bytes over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "extent/extent.h"

namespace forebay::test {

class ByteModel {
 public:
  // Rank r is on node r modulo `nodes`.
  ByteModel(const std::vector<std::byte>& first_bytes, int64_t most_bytes, uint32_t nodes);

  // Whether the rank's writes of these bytes come after all earlier ones: these are handed over, or
  // were made on its node.
  bool may_write(Extent extent, uint32_t rank) const;
  // A write begins: the bytes to write. They may be anywhere from now on.
  std::vector<std::byte> begin_write(Extent extent, uint32_t rank);
  void end_write(Extent extent);
  // All nodes see from now on what has ended; no write is under way.
  void hand_over();
  // No write is under way: the file ends at `bytes`, and zeros follow if it grows again.
  void truncate(int64_t bytes);

  // How many bytes storage lacks of writes of the node that have ended.
  int64_t unsaved_bytes(uint32_t node) const;

  // What a read, or a commit, on a node that begins now must at least see.
  struct Moment {
    Extent extent;
    std::vector<uint32_t> ended;  // a write for each byte of the extent
    int64_t end;                  // of the file
  };
  Moment now(Extent extent, uint32_t node) const;
  // Of `moment`, only the bytes whose last write that has ended is the rank's.
  void only_of(uint32_t rank, Moment& moment) const;
  // What storage must have when all nodes have committed.
  Moment at_the_end() const;

  // Why a read of moment.extent, which ends now with these bytes, was wrong; "" if it was not.
  std::string check_read(const Moment& moment, std::span<const std::byte> bytes) const;
  // No write is under way.
  std::string check_size(int64_t bytes) const;
  // Storage gets bytes, now: never older ones than it had.
  std::string check_stored(int64_t offset, std::span<const std::byte> bytes);
  // Storage has all that the moment must see.
  std::string check_storage(const Moment& moment, std::span<const std::byte> stored) const;

 private:
  struct Byte {
    uint8_t first = 0;         // its value as write 0
    uint32_t begun = 0;        // the last write that has begun
    uint32_t ended = 0;        // the last write that has ended
    uint32_t handed_over = 0;  // the last that all nodes see
    uint32_t in_storage = 0;
    uint32_t writer = 0;    // the rank that has begun the last write
    uint32_t ended_by = 0;  // the rank whose write was the last to end
  };
  uint32_t node_of(const Byte& byte) const {
    return byte.writer % static_cast<uint32_t>(ended_ends_.size());
  }
  // The first of the writes [from, to] of the byte that had this value; none: UINT32_MAX.
  static uint32_t write_of(const Byte& byte, uint32_t from, uint32_t to, std::byte value);
  std::string describe(int64_t offset, std::byte found, uint32_t from, uint32_t to) const;

  std::vector<Byte> bytes_;
  int64_t begun_end_;
  std::vector<int64_t> ended_ends_;  // of the file, as each node must see it
};

}  // namespace forebay::test
