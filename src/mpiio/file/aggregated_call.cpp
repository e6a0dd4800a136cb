#include "mpiio/file/aggregated_call.h"

#include <algorithm>

#include "mpiio/library/agreement.h"

namespace forebay::mpiio {

bool AggregatedCall::takes(const Handle& handle, const Call& call) {
  // Where ordered accesses lie is found out within the call.
  return handle.aggregates && !handle.atomic && handle.pass_through == cached_mode &&
         call.positioning != Positioning::ordered;
}

AggregatedCall::AggregatedCall(Handle& handle, bool writes) : handle_(handle), writes_(writes) {
  const HandleLock lock(handle_);
  handle_.aggregated_call = this;
}

AggregatedCall::~AggregatedCall() {
  const HandleLock lock(handle_);
  handle_.aggregated_call = nullptr;
  offset_ = ended;
  while (end_ != INT64_MAX) next_round();
}

void AggregatedCall::begin(const View& view, int64_t position, int64_t bytes) {
  view_ = &view;
  position_ = position;
  bytes_ = bytes;
  offset_ = view.offset_of(position);
}

bool AggregatedCall::come_to(int64_t offset) {
  offset_ = offset;
  return offset_ < end_;
}

void AggregatedCall::wait() {
  while (offset_ >= end_) next_round();
}

// Where the bytes end that this rank asks for from `offset_` on and below `end`; 0: there are none.
int64_t AggregatedCall::asked_below(int64_t end) const {
  if (offset_ >= end) return 0;
  const int64_t last = std::min(position_ + bytes_, view_->tiling().data_below(end)) - 1;
  return view_->offset_of(last) + 1;
}

// Every rank has moved its bytes of the round before.
void AggregatedCall::next_round() {
  const int64_t begin = agree_min(handle_.own.comm, offset_);
  if (begin == ended) {
    end_ = INT64_MAX;
    return;
  }
  if (first_ == ended) first_ = begin;
  const int64_t bytes = handle_.cached->bytes_a_round();
  const int64_t until_round = (begin - first_) / bytes * bytes;
  const bool ends = __builtin_add_overflow(first_, until_round + bytes, &end_);
  if (ends) end_ = INT64_MAX - 1;
  const int64_t end = agree_max(handle_.own.comm, asked_below(end_));
  if (handle_.rank == 0) handle_.cached->touch({begin, end - begin}, writes_);
  wait_for_all(handle_.own.comm);
}

}  // namespace forebay::mpiio
