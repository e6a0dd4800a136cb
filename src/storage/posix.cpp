#include "storage/posix.h"

#include <fcntl.h>
#include <limits.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "storage/workers.h"

namespace forebay {
namespace {

// Requests of a list are issued concurrently if several are large, or if recent ones took so long
// that they must have waited for storage. Not writes to a local file system: they are copies to the
// kernel's memory, which excludes other writers of the file meanwhile.
constexpr int64_t concurrent_from_bytes = 256 << 10;
constexpr auto concurrent_from_each = std::chrono::microseconds(250);
// How many helpers carry out the requests of a list, beside the thread that waits. Small requests
// are round trips, which overlap. A few large ones already fill the way to storage, and more would
// overload a node whose ranks all commit at once.
constexpr std::size_t helpers_of_small = 15;
constexpr std::size_t helpers_of_large = 3;

// Segments that are shorter than this on average, if there are several, go through a buffer. FUSE,
// with direct I/O, puts each segment on a page of its own: GlusterFS then takes six times as long
// for segments of 300 bytes, and a quarter more for 4 KiB.
constexpr int64_t short_segment_bytes = 8 << 10;
constexpr std::size_t many_segments = 8;
constexpr std::size_t buffer_bytes = 512 << 10;

using Clock = std::chrono::steady_clock;

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

  // Calls visit(memory, length) for the pieces of the next `bytes` bytes.
  template <typename Visit>
  void for_each_piece(int64_t bytes, const Visit& visit) const {
    int64_t skipped = consumed_;
    for (std::size_t i = first_; bytes > 0; ++i) {
      const int64_t length = std::min(segments_[i].length - skipped, bytes);
      visit(segments_[i].memory + skipped, static_cast<std::size_t>(length));
      bytes -= length;
      skipped = 0;
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

// What takes the place of many short segments in one system call.
class SegmentBuffer {
 public:
  explicit SegmentBuffer(const Request& request) {
    const int64_t bytes = length_of(request);
    const auto segments = std::ssize(request.segments);
    if (request.segments.size() < many_segments || bytes >= short_segment_bytes * segments) return;
    bytes_ = std::min(static_cast<std::size_t>(bytes), buffer_bytes);
    memory_.reset(new (std::nothrow) std::byte[bytes_]);  // without memory they go as they are
  }
  explicit operator bool() const { return memory_ != nullptr; }

  // The buffer, for the next of the request's `left` bytes.
  std::span<const iovec> room(int64_t left) {
    vector_ = {memory_.get(), std::min(static_cast<std::size_t>(left), bytes_)};
    return {&vector_, 1};
  }
  // The same, with the bytes that come next.
  std::span<const iovec> filled(const SegmentCursor& cursor, int64_t left) {
    const std::span<const iovec> next = room(left);
    std::byte* to = memory_.get();
    cursor.for_each_piece(static_cast<int64_t>(vector_.iov_len),
                          [&to](const std::byte* piece, std::size_t length) {
                            std::memcpy(to, piece, length);
                            to += length;
                          });
    return next;
  }
  // Hands over the first `bytes` bytes of the buffer.
  void empty_into(const SegmentCursor& cursor, int64_t bytes) const {
    const std::byte* from = memory_.get();
    cursor.for_each_piece(bytes, [&from](std::byte* piece, std::size_t length) {
      std::memcpy(piece, from, length);
      from += length;
    });
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_ = 0;
  iovec vector_{};
};

class PosixStorage final : public Storage {
 public:
  PosixStorage(SystemCalls& calls, int descriptor) : calls_(calls), descriptor_(descriptor) {}
  ~PosixStorage() override { calls_.close(descriptor_); }

  Status size(int64_t* bytes) override {
    *bytes = calls_.size(descriptor_);
    return *bytes < 0 ? Status::from_errno(errno) : Status::success();
  }

  int64_t modified_ns() override { return calls_.modified_ns(descriptor_); }
  FileStamp stamp() override { return calls_.stamp(descriptor_); }
  FileStamp mark(const FileStamp& before) override;

  bool local() override {
    if (local_ < 0) local_ = calls_.local(descriptor_);
    return local_ != 0;
  }

  bool close_to_open() override {
    if (close_to_open_ < 0) close_to_open_ = calls_.close_to_open(descriptor_);
    return close_to_open_ != 0;
  }
  void refresh() override { calls_.refresh(descriptor_); }

  Status flush() override;

 private:
  using Outcome = Transfer::Outcome;

  // A transfer whose requests the helper threads have begun to carry out.
  struct Shared final : Transfer::Progress {
    Shared(PosixStorage& storage, Transfer& transfer)
        : task(
              transfer.requests().size(),
              [this, &storage, &transfer](std::size_t request) {
                time += storage.timed(transfer, request).count();
              },
              static_cast<int>(helpers_of(transfer.requests()))) {}
    Workers::Task task;
    std::atomic<Clock::rep> time{0};  // of all requests together
  };

  void start(Transfer& transfer) override;
  void finish(Transfer& transfer) override;
  bool worth_sharing(std::span<const Request> requests) const;
  static std::size_t helpers_of(std::span<const Request> requests);
  void carry_out(Transfer& transfer, std::size_t request) {
    transfer.outcome(request) = transfer.direction() == Transfer::Direction::write
                                    ? put(transfer.requests()[request])
                                    : get(transfer.requests()[request]);
  }
  Clock::duration timed(Transfer& transfer, std::size_t request) {
    const auto begin = Clock::now();
    carry_out(transfer, request);
    return Clock::now() - begin;
  }
  void learn(Clock::duration sum, std::size_t requests);
  Outcome put(const Request& request);
  Outcome get(const Request& request);

  SystemCalls& calls_;
  const int descriptor_;
  std::atomic<Clock::duration> request_time_{};  // moving average over requests in lists
  std::atomic<int> flush_error_{0};              // errno of the first fsync that failed
  std::atomic<int> local_{-1};                   // -1: not asked yet
  std::atomic<int> close_to_open_{-1};           // likewise
  Workers& workers_ = Workers::of_process();
};

// What is not worth sharing is left to finish(), and so to the thread that waits for it.
void PosixStorage::start(Transfer& transfer) {
  if (transfer.requests().size() < 2 || !worth_sharing(transfer.requests())) return;
  if (transfer.direction() == Transfer::Direction::write && local()) return;
  auto shared = std::make_unique<Shared>(*this, transfer);
  workers_.begin(shared->task);
  transfer.keep(std::move(shared));
}

void PosixStorage::finish(Transfer& transfer) {
  const std::size_t requests = transfer.requests().size();
  if (requests == 1) return carry_out(transfer, 0);
  if (requests == 0) return;
  if (auto* const shared = static_cast<Shared*>(transfer.progress())) {
    workers_.finish(shared->task);
    return learn(Clock::duration(shared->time), requests);
  }
  Clock::duration sum{};
  for (std::size_t i = 0; i < requests; ++i) sum += timed(transfer, i);
  learn(sum, requests);
}

void PosixStorage::learn(Clock::duration sum, std::size_t requests) {
  const Clock::duration before = request_time_.load(std::memory_order_relaxed);
  const Clock::duration latest = sum / static_cast<Clock::rep>(requests);
  request_time_.store(before == before.zero() ? latest : (3 * before + latest) / 4,
                      std::memory_order_relaxed);
}

bool PosixStorage::worth_sharing(std::span<const Request> requests) const {
  if (request_time_.load(std::memory_order_relaxed) >= concurrent_from_each) return true;
  return std::count_if(requests.begin(), requests.end(), [](const Request& request) {
           return length_of(request) >= concurrent_from_bytes;
         }) >= 2;
}

std::size_t PosixStorage::helpers_of(std::span<const Request> requests) {
  int64_t bytes = 0;
  for (const Request& request : requests) bytes += length_of(request);
  const bool small = bytes < concurrent_from_bytes * std::ssize(requests);
  return std::min(requests.size(), small ? helpers_of_small : helpers_of_large);
}

Transfer::Outcome PosixStorage::put(const Request& request) {
  Outcome outcome;
  SegmentCursor cursor(request.segments);
  SegmentBuffer buffer(request);
  const int64_t bytes = length_of(request);
  while (outcome.transferred < bytes) {
    const auto vectors =
        buffer ? buffer.filled(cursor, bytes - outcome.transferred) : cursor.vectors();
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

Transfer::Outcome PosixStorage::get(const Request& request) {
  Outcome outcome;
  SegmentCursor cursor(request.segments);
  SegmentBuffer buffer(request);
  const int64_t bytes = length_of(request);
  while (outcome.transferred < bytes) {
    const auto vectors = buffer ? buffer.room(bytes - outcome.transferred) : cursor.vectors();
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
    if (buffer) buffer.empty_into(cursor, count);
    cursor.advance(count);
  }
  return outcome;
}

// Where clocks tick coarsely, a later write may give the file the time of the last one, or that of
// a later tick; the mark lies between two ticks. Where they do not, a later write comes after the
// mark. GlusterFS never sets a time back, so the mark is later than the time that it takes the
// place of.
FileStamp PosixStorage::mark(const FileStamp& before) {
  constexpr int64_t tick_ns = 1'000'000;  // the shortest of a Linux kernel
  constexpr int64_t surely_past_ns = 1'000;
  const int64_t now =
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  const int64_t room = std::clamp(now - before.modified_ns, surely_past_ns, tick_ns - 1);
  const int64_t marked = before.modified_ns + 1 + now % (room - 1);
  if (calls_.set_modified_ns(descriptor_, marked) != 0) return {};
  const FileStamp after = stamp();
  return after.size == before.size && after.modified_ns == marked ? after : FileStamp{};
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
