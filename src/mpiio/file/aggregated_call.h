// A collective access as its cache sees it with awareness=aggregated: one request from the first
// byte that any rank asks for to the last, holes included, as the collective buffering of the MPI
// libraries makes it. The baseline of Lu (2014), whose caches see each rank's own accesses.
//
// The ranks go through the request in rounds. In a round one rank touches the pages from the first
// byte asked for to the last; then each moves its own bytes, of which the policy is not told. A
// round in which nobody asks for a byte is left out. All ranks take part in each round, whatever
// has become of their own access.
//
// Lock rule: the handle's lock is held while a rank waits in a round, as all ranks are in the call.
#pragma once

#include <cstdint>

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

class AggregatedCall final : public Pace {
 public:
  // All ranks of the handle are in the call.
  AggregatedCall(Handle& handle, bool writes);
  ~AggregatedCall() override;  // when the other ranks have ended, too
  AggregatedCall(const AggregatedCall&) = delete;
  AggregatedCall& operator=(const AggregatedCall&) = delete;

  // Whether the accesses of such a call are made one; the same on all ranks.
  static bool takes(const Handle& handle, const Call& call);
  // This rank's part; the view outlives it.
  void begin(const View& view, int64_t position, int64_t bytes);

  bool come_to(int64_t offset) override;
  void wait() override;
  int64_t next_stop() const override { return end_; }
  int64_t round_end() const override { return end_; }

 private:
  static constexpr int64_t ended = INT64_MAX;  // the offset of a rank without further bytes

  void next_round();
  int64_t asked_below(int64_t end) const;

  Handle& handle_;
  const bool writes_;
  const View* view_ = nullptr;
  int64_t position_ = 0, bytes_ = 0;
  int64_t offset_ = ended;   // to which this rank has come
  int64_t first_ = ended;    // of the request
  int64_t end_ = INT64_MIN;  // of the round; INT64_MAX: it was the last one
};

}  // namespace forebay::mpiio
