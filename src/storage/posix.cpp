#include "storage/posix.h"

#include <fcntl.h>
#include <limits.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <vector>

#include "storage/workers.h"

namespace forebay {
namespace {

// Requests of a list are issued concurrently if several are large, or if recent ones took so long
// that they must have waited for storage.
constexpr int64_t concurrent_from_bytes = 256 << 10;
constexpr auto concurrent_from_each = std::chrono::microseconds(250);
// Together with the caller, four requests are in progress at a time: enough to overlap the round
// trips to a few servers, and few enough not to overload a node whose ranks all commit at once.
constexpr int helper_threads = 3;

using Clock = std::chrono::steady_clock;

int64_t length_of(const Request& request) {
  int64_t length = 0;
  for (const Segment& segment : request.segments) length += segment.length;
  return length;
}

// Walks a request's segments as vectors of at most IOV_MAX entries. Segments adjacent in memory
// become one entry.
class SegmentCursor {
 public:
  explicit SegmentCursor(std::span<const Segment> segments) : segments_(segments) {}

  // The entries of the next transfer; empty at the end of the request.
  std::span<const iovec> vectors() {
    std::size_t count = 0;
    int64_t skipped = consumed_;
    for (std::size_t i = first_; i < segments_.size(); ++i) {
      std::byte* const memory = segments_[i].memory + skipped;
      const auto length = static_cast<std::size_t>(segments_[i].length - skipped);
      skipped = 0;
      if (length == 0) continue;
      if (count > 0 && end_of(vectors_[count - 1]) == memory) {
        vectors_[count - 1].iov_len += length;
      } else if (count < vectors_.size()) {
        vectors_[count++] = {memory, length};
      } else {
        break;
      }
    }
    return {vectors_.data(), count};
  }

  void advance(int64_t bytes) {
    while (bytes > 0) {
      const int64_t left = segments_[first_].length - consumed_;
      const int64_t step = std::min(left, bytes);
      bytes -= step;
      consumed_ += step;
      if (step == left) {
        ++first_;
        consumed_ = 0;
      }
    }
  }

 private:
  static std::byte* end_of(const iovec& vector) {
    return static_cast<std::byte*>(vector.iov_base) + vector.iov_len;
  }

  std::span<const Segment> segments_;
  std::size_t first_ = 0;  // first segment that is not complete
  int64_t consumed_ = 0;   // bytes transferred of that segment
  std::array<iovec, IOV_MAX> vectors_;
};

// The result of one request.
struct Outcome {
  Status status;
  int64_t transferred = 0;
  int64_t syscalls = 0;
  Clock::duration time{};
};

class PosixStorage final : public Storage {
 public:
  PosixStorage(SystemCalls& calls, int descriptor) : calls_(calls), descriptor_(descriptor) {}
  ~PosixStorage() override { calls_.close(descriptor_); }

  Status write(std::span<const Request> requests, StorageCounters& counters) override {
    return each(requests, counters, {}, [this](const Request& request) { return put(request); });
  }

  Status read(std::span<const Request> requests, std::span<int64_t> transferred,
              StorageCounters& counters) override {
    return each(requests, counters, transferred,
                [this](const Request& request) { return get(request); });
  }

  Status size(int64_t* bytes) override {
    *bytes = calls_.size(descriptor_);
    return *bytes < 0 ? Status::from_errno(errno) : Status::success();
  }

  int64_t modified_ns() override { return calls_.modified_ns(descriptor_); }

  bool local() override { return calls_.local(descriptor_); }

  Status flush() override;

 private:
  Status each(std::span<const Request> requests, StorageCounters& counters,
              std::span<int64_t> transferred,
              const std::function<Outcome(const Request&)>& transfer);
  Outcome put(const Request& request);
  Outcome get(const Request& request);

  bool shared_out(std::span<const Request> requests) const;

  SystemCalls& calls_;
  const int descriptor_;
  std::atomic<Clock::duration> request_time_{};  // moving average over requests in lists
  std::atomic<int> flush_error_{0};              // errno of the first fsync that failed
  Workers workers_{helper_threads};
};

Status PosixStorage::each(std::span<const Request> requests, StorageCounters& counters,
                          std::span<int64_t> transferred,
                          const std::function<Outcome(const Request&)>& transfer) {
  Status first_failure;
  const auto record = [&](std::size_t i, const Outcome& outcome) {
    ++counters.requests;
    counters.syscalls += outcome.syscalls;
    if (!transferred.empty()) transferred[i] = outcome.transferred;
    if (first_failure.ok()) first_failure = outcome.status;
  };
  if (requests.size() < 2) {
    for (std::size_t i = 0; i < requests.size(); ++i) record(i, transfer(requests[i]));
    return first_failure;
  }
  std::vector<Outcome> outcomes(requests.size());
  const auto transfer_one = [&](std::size_t i) {
    const auto begin = Clock::now();
    outcomes[i] = transfer(requests[i]);
    outcomes[i].time = Clock::now() - begin;
  };
  if (shared_out(requests)) {
    workers_.run(requests.size(), transfer_one);
  } else {
    for (std::size_t i = 0; i < requests.size(); ++i) transfer_one(i);
  }
  Clock::duration sum{};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    record(i, outcomes[i]);
    sum += outcomes[i].time;
  }
  const Clock::duration before = request_time_.load(std::memory_order_relaxed);
  const Clock::duration latest = sum / std::ssize(requests);
  request_time_.store(before == before.zero() ? latest : (3 * before + latest) / 4,
                      std::memory_order_relaxed);
  return first_failure;
}

bool PosixStorage::shared_out(std::span<const Request> requests) const {
  if (request_time_.load(std::memory_order_relaxed) >= concurrent_from_each) return true;
  return std::count_if(requests.begin(), requests.end(), [](const Request& request) {
           return length_of(request) >= concurrent_from_bytes;
         }) >= 2;
}

Outcome PosixStorage::put(const Request& request) {
  Outcome outcome;
  SegmentCursor cursor(request.segments);
  for (auto vectors = cursor.vectors(); !vectors.empty(); vectors = cursor.vectors()) {
    const int64_t offset = request.offset + outcome.transferred;
    const ssize_t written =
        calls_.pwritev(descriptor_, vectors.data(), static_cast<int>(vectors.size()), offset);
    ++outcome.syscalls;
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      // A write without progress and without an error must not become an endless loop.
      outcome.status = Status::from_errno(written < 0 ? errno : EIO, offset);
      return outcome;
    }
    outcome.transferred += written;
    cursor.advance(written);
  }
  return outcome;
}

Outcome PosixStorage::get(const Request& request) {
  Outcome outcome;
  SegmentCursor cursor(request.segments);
  for (auto vectors = cursor.vectors(); !vectors.empty(); vectors = cursor.vectors()) {
    const int64_t offset = request.offset + outcome.transferred;
    const ssize_t count =
        calls_.preadv(descriptor_, vectors.data(), static_cast<int>(vectors.size()), offset);
    ++outcome.syscalls;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      outcome.status = Status::from_errno(errno, offset);
      return outcome;
    }
    if (count == 0) return outcome;  // only this, not a short read, means end of file
    outcome.transferred += count;
    cursor.advance(count);
  }
  return outcome;
}

// Linux reports a failed write-back once per open descriptor and then reports success, although the
// bytes are lost. So the failure is kept.
Status PosixStorage::flush() {
  int result = 0;
  do {
    result = calls_.fsync(descriptor_);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EINVAL) {  // EINVAL: the file cannot be flushed
    int none = 0;
    flush_error_.compare_exchange_strong(none, errno);
  }
  return Status::from_errno(flush_error_.load());
}

}  // namespace

OpenedStorage open_posix_with(SystemCalls& calls, const std::string& path, bool readable,
                              bool writable) {
  const int mode = readable && writable ? O_RDWR : writable ? O_WRONLY : O_RDONLY;
  int descriptor = -1;
  do {
    descriptor = calls.open(path.c_str(), mode | O_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) return {nullptr, Status::from_errno(errno)};
  return {std::make_unique<PosixStorage>(calls, descriptor), Status::success()};
}

OpenedStorage open_posix(const std::string& path, bool readable, bool writable) {
  return open_posix_with(SystemCalls::real(), path, readable, writable);
}

}  // namespace forebay
