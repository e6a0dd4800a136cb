// System calls that fail on request, to test how a program handles it: the Nth call of a kind
// (once, or from then on), shortened transfers, a full disk.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "storage/system_calls.h"

namespace forebay {

enum class Call : uint8_t { open, close, pwritev, preadv, fsync, size };
inline constexpr int call_kinds = 6;

// Thread rule: any member from any thread. Requested faults add up.
class FaultInjector final : public SystemCalls {
 public:
  explicit FaultInjector(SystemCalls& below = SystemCalls::real()) : below_(below) {}

  // The nth call from now (1: the next one) of this kind fails with `error` without any effect.
  void fail_once(Call call, int64_t nth, int error);
  // The same for all calls after it.
  void fail_from(Call call, int64_t nth, int error);
  // No transfer moves more than this many bytes.
  void shorten(int64_t bytes);
  // Nothing can be written at or beyond this file offset: a write is cut short there, then fails
  // with ENOSPC.
  void fill_disk_at(int64_t offset);
  // Removes all faults.
  void heal();

  int64_t calls(Call call) const;  // so far, failed ones included

  int open(const char* path, int flags) override;
  int close(int descriptor) override;  // a failing close still closes, as in Linux
  ssize_t pwritev(int descriptor, const iovec* segments, int count, int64_t offset) override;
  ssize_t preadv(int descriptor, const iovec* segments, int count, int64_t offset) override;
  int fsync(int descriptor) override;
  int64_t size(int descriptor) override;

 private:
  struct Fault {
    Call call;
    int64_t first;  // counted from the creation of the injector
    int64_t last;
    int error;
  };
  static constexpr int64_t unlimited = INT64_MAX;

  void add(Call call, int64_t nth, bool for_ever, int error);
  bool fails(Call call);  // counts the call; sets errno if the call fails
  int64_t allowed(bool writing, int64_t offset) const;

  SystemCalls& below_;
  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  std::array<int64_t, call_kinds> calls_{};
  int64_t longest_transfer_ = unlimited;
  int64_t disk_end_ = unlimited;
};

}  // namespace forebay
