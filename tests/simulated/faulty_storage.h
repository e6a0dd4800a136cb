// Storage in virtual time: the requests of a transfer go on side by side, each in pieces that take
// their time, and now and then one fails after some of its bytes. A seed decides. What a process
// has under way stops when it dies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "extent/seeded_random.h"
#include "sim/fibers.h"
#include "storage/storage.h"

namespace forebay::test {

class FaultyStorage final : public Storage {
 public:
  // Called for each piece, when the file gets it.
  using Stored = std::function<void(int64_t offset, std::span<const std::byte> bytes)>;

  // `bytes`: those of the file. `fails_one_in`: of the pieces; 0: none fails.
  FaultyStorage(sim::Fibers& fibers, std::vector<std::byte> bytes, int64_t fails_one_in,
                uint64_t seed, Stored stored)
      : fibers_(fibers),
        bytes_(std::move(bytes)),
        fails_one_in_(fails_one_in),
        random_(seed),
        stored_(std::move(stored)) {}

  Status size(int64_t* bytes) override;
  Status flush() override { return {}; }

  void truncate(int64_t bytes) { bytes_.resize(static_cast<std::size_t>(bytes)); }
  void heal() { fails_one_in_ = 0; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  struct UnderWay;
  void start(Transfer& transfer) override;
  void finish(Transfer& transfer) override;
  void begin_piece(UnderWay& under_way, std::size_t request);
  void end_piece(UnderWay& under_way, std::size_t request, std::span<std::byte> memory);
  int64_t move(Transfer::Direction direction, int64_t offset, std::span<std::byte> memory);
  bool fails();

  sim::Fibers& fibers_;
  std::vector<std::byte> bytes_;
  int64_t fails_one_in_;
  int64_t failures_left_ = 40;
  SeededRandom random_;
  Stored stored_;
};

}  // namespace forebay::test
