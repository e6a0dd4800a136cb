// Records the accesses of this process: on the path of a call into memory of its thread, from there
// by a helper thread into the process's trace file. A call costs two time stamps and a copy; it
// takes no lock and makes no system call, and where the helper does not keep up it is counted as
// lost instead of waiting.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/node/notices.h"
#include "trace/container.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <ctime>
#endif

namespace forebay::runtime {

struct TraceSettings {
  std::string directory;
  trace::Times times = trace::Times::exact;
  int64_t limit_bytes = 0;  // of the file: beyond it times are folded
  trace::ProcessInfo process;
  bool speaks = true;  // of what keeps all processes of its node from recording
  Notices* notices = &silence;
};

// Whether accesses are recorded. Read before every call.
extern std::atomic<bool> tracing;

// What a call's start and end are taken from; turned into nanoseconds when they are written.
inline int64_t trace_ticks() {
#if defined(__x86_64__)
  return static_cast<int64_t>(__rdtsc());
#else
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
#endif
}

// Makes the directory, if need be, and in it this process's file. False: nothing is recorded, and
// the user is told, unless the directory cannot be used and another process speaks of that.
bool start_trace(const TraceSettings& settings);

// Numbers of an open and of a view (0: all bytes from the beginning of the file), for the accesses.
uint32_t trace_file(trace::FileInfo info);
uint32_t trace_view(const Tiling& tiling);

// Records an access of this thread whose times are ticks.
void trace_access(const trace::Access& access);

// Records that a request of an access recorded before (its `request`) is complete; in ticks.
void trace_completion(const trace::Completion& completion);

// What this thread has recorded so far goes to the file soon.
void flush_trace();

// Ends the recording with everything in the file, and with `more` about the process. No other
// thread records meanwhile.
void end_trace(const trace::ProcessInfo& more = {});

}  // namespace forebay::runtime
