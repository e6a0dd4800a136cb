#include "storage/transfer.h"

#include "storage/storage.h"

namespace forebay {

int64_t length_of(const Request& request) {
  int64_t length = 0;
  for (const Segment& segment : request.segments) length += segment.length;
  return length;
}

Transfer::~Transfer() {
  if (!under_way()) return;
  const Status ignored = storage_->complete(*this);
  static_cast<void>(ignored);  // whoever wanted to know has completed it
}

Status Transfer::status() const {
  for (const Outcome& outcome : outcomes()) {
    if (!outcome.status.ok()) return outcome.status;
  }
  return {};
}

StorageCounters Transfer::counters() const {
  StorageCounters sum{std::ssize(requests_), 0};
  for (const Outcome& outcome : outcomes()) sum.syscalls += outcome.syscalls;
  return sum;
}

void Storage::submit(Transfer& transfer) {
  start(transfer);
  transfer.storage_ = this;
}

Status Storage::complete(Transfer& transfer) {
  transfer.storage_ = nullptr;
  finish(transfer);
  transfer.progress_.reset();
  return transfer.status();
}

Status Storage::carry_out(Transfer& transfer, StorageCounters& counters) {
  submit(transfer);
  const Status status = complete(transfer);
  const StorageCounters spent = transfer.counters();
  counters.requests += spent.requests;
  counters.syscalls += spent.syscalls;
  return status;
}

Status Storage::write(std::span<const Request> requests, StorageCounters& counters) {
  Transfer transfer(Transfer::Direction::write, requests);
  return carry_out(transfer, counters);
}

Status Storage::read(std::span<const Request> requests, std::span<int64_t> transferred,
                     StorageCounters& counters) {
  Transfer transfer(Transfer::Direction::read, requests);
  const Status status = carry_out(transfer, counters);
  for (std::size_t i = 0; i < requests.size(); ++i)
    transferred[i] = transfer.outcomes()[i].transferred;
  return status;
}

}  // namespace forebay
