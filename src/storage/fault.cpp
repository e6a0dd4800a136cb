#include "storage/fault.h"

#include <algorithm>
#include <cerrno>
#include <span>

namespace forebay {
namespace {

// The first `bytes` bytes of the segments.
std::vector<iovec> first_bytes(std::span<const iovec> segments, int64_t bytes) {
  std::vector<iovec> out;
  for (const iovec& segment : segments) {
    const auto length = std::min(static_cast<int64_t>(segment.iov_len), bytes);
    if (length == 0) break;
    out.push_back({segment.iov_base, static_cast<std::size_t>(length)});
    bytes -= length;
  }
  return out;
}

}  // namespace

void FaultInjector::fail_once(Call call, int64_t nth, int error) { add(call, nth, false, error); }

void FaultInjector::fail_from(Call call, int64_t nth, int error) { add(call, nth, true, error); }

void FaultInjector::add(Call call, int64_t nth, bool for_ever, int error) {
  const std::lock_guard lock(mutex_);
  const int64_t first = calls_[static_cast<std::size_t>(call)] + nth;
  faults_.push_back({call, first, for_ever ? unlimited : first, error});
}

void FaultInjector::shorten(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  longest_transfer_ = bytes;
}

void FaultInjector::fill_disk_at(int64_t offset) {
  const std::lock_guard lock(mutex_);
  disk_end_ = offset;
}

void FaultInjector::heal() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
  longest_transfer_ = unlimited;
  disk_end_ = unlimited;
}

int64_t FaultInjector::calls(Call call) const {
  const std::lock_guard lock(mutex_);
  return calls_[static_cast<std::size_t>(call)];
}

bool FaultInjector::fails(Call call) {
  const std::lock_guard lock(mutex_);
  const int64_t number = ++calls_[static_cast<std::size_t>(call)];
  for (const Fault& fault : faults_) {
    if (fault.call == call && fault.first <= number && number <= fault.last) {
      errno = fault.error;
      return true;
    }
  }
  return false;
}

int64_t FaultInjector::allowed(bool writing, int64_t offset) const {
  const std::lock_guard lock(mutex_);
  return writing ? std::min(longest_transfer_, std::max<int64_t>(disk_end_ - offset, 0))
                 : longest_transfer_;
}

int FaultInjector::open(const char* path, int flags) {
  return fails(Call::open) ? -1 : below_.open(path, flags);
}

int FaultInjector::close(int descriptor) {
  const bool failed = fails(Call::close);
  const int error = errno;
  const int result = below_.close(descriptor);
  if (!failed) return result;
  errno = error;
  return -1;
}

ssize_t FaultInjector::pwritev(int descriptor, const iovec* segments, int count, int64_t offset) {
  if (fails(Call::pwritev)) return -1;
  const auto given = std::span(segments, static_cast<std::size_t>(count));
  const auto passed = first_bytes(given, allowed(true, offset));
  if (passed.empty()) {
    errno = ENOSPC;
    return -1;
  }
  return below_.pwritev(descriptor, passed.data(), static_cast<int>(passed.size()), offset);
}

ssize_t FaultInjector::preadv(int descriptor, const iovec* segments, int count, int64_t offset) {
  if (fails(Call::preadv)) return -1;
  const auto given = std::span(segments, static_cast<std::size_t>(count));
  const auto passed = first_bytes(given, allowed(false, offset));
  return below_.preadv(descriptor, passed.data(), static_cast<int>(passed.size()), offset);
}

int FaultInjector::fsync(int descriptor) {
  return fails(Call::fsync) ? -1 : below_.fsync(descriptor);
}

int64_t FaultInjector::size(int descriptor) {
  return fails(Call::size) ? -1 : below_.size(descriptor);
}

}  // namespace forebay
