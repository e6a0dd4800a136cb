// What a file's bytes may be. Every byte has one writer; its writes are numbered from 1 (0: as the
// file began), and its value tells which of them it was. A read may bring any write between the
// last that had ended when the read began and the last that had begun when the read ended.
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
  explicit ByteModel(std::vector<std::byte> first_bytes, int64_t most_bytes);

  // A write begins: the bytes to write. They may be anywhere from now on.
  std::vector<std::byte> begin_write(Extent extent);
  void end_write(Extent extent);
  // No write is under way: the file ends at `bytes`, and zeros follow if it grows again.
  void truncate(int64_t bytes);

  // How many bytes storage lacks of writes that have ended.
  int64_t unsaved_bytes() const;

  // What a read, or a commit, that begins now must at least see.
  struct Moment {
    Extent extent;
    std::vector<uint32_t> ended;  // a write for each byte of the extent
    int64_t end;                  // of the file
  };
  Moment now(Extent extent) const;

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
    uint8_t first = 0;   // its value as write 0
    uint32_t begun = 0;  // the last write that has begun
    uint32_t ended = 0;  // the last write that has ended
    uint32_t in_storage = 0;
  };
  // The first of the writes [from, to] of the byte that had this value; none: UINT32_MAX.
  static uint32_t write_of(const Byte& byte, uint32_t from, uint32_t to, std::byte value);
  std::string describe(int64_t offset, std::byte found, uint32_t from, uint32_t to) const;

  std::vector<Byte> bytes_;
  int64_t begun_end_;
  int64_t ended_end_;
};

}  // namespace forebay::test
