// The pace of the handles that the ranks of one node got from one collective open. Each tells in
// its seat where it is in the access under way.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/pace.h"
#include "extent/extent.h"
#include "runtime/node/registry.h"

namespace forebay::runtime {

class SeatPace final : public Pace {
 public:
  // `mine`: the seat of this handle; `distance_bytes`: how far handles may be apart.
  SeatPace(Registry& registry, Seat& mine, int64_t distance_bytes);

  // The handle will take part in a collective access. It says so before the ranks meet at the
  // beginning of the access; any two accesses of the ranks have such a meeting between them.
  void announce();
  bool announced() const { return announced_; }
  // The bytes of this handle's part lie within `region`.
  void begin(Extent region);
  // The handle's part has ended, or there was none.
  void end();

  int64_t distance_bytes() const { return distance_; }
  bool come_to(int64_t offset) override;
  void wait() override;
  int64_t next_stop() const override { return next_stop_; }

 private:
  PaceView look() const;
  void find_others();

  Registry& registry_;
  Seat& mine_;
  int64_t distance_;
  std::vector<Seat*> others_;
  bool knows_others_ = false;
  bool announced_ = false;
  uint64_t access_ = 0;  // counts the collective accesses of the ranks
  Extent region_;
  int64_t offset_ = 0;
  int64_t next_stop_ = 0;
};

}  // namespace forebay::runtime
