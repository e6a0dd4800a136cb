// Records the accesses of this process. A call copies its record into memory of its thread; a
// helper thread writes the records to the process's trace file. Recording costs two time stamps and
// a copy. It takes no lock and makes no system call, except at a thread's first record and when a
// chunk of records is full. If the helper does not keep up, a call does not wait: its record is
// counted as lost.
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
  int64_t limit_bytes = 0;  // of the trace file: beyond it times are folded
  trace::ProcessInfo process;
  bool speaks = true;  // reports what keeps all processes of the node from recording
  Notices* notices = &silence;
};

// Whether accesses are recorded. Read before every call.
extern std::atomic<bool> tracing;

// The clock of calls' start and end, in ticks. The helper converts them to nanoseconds.
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
// the user is told; only if the directory cannot be used, and not `speaks`, another process tells
// it.
bool start_trace(const TraceSettings& settings);

// Record an open file and a view, and return the numbers by which accesses name them. View 0: all
// bytes from the beginning of the file.
uint32_t trace_file(trace::FileInfo info);
uint32_t trace_view(const Tiling& tiling);

// Records an access of this thread; its times are in ticks.
void trace_access(const trace::Access& access);

// Records that the request of an access recorded before (the same `request`) is complete; the time
// is in ticks.
void trace_completion(const trace::Completion& completion);

// Makes the helper write soon what this thread has recorded so far.
void flush_trace();

// Writes everything recorded and `more` about the process to the file, and ends the recording. No
// other thread may record meanwhile.
void end_trace(const trace::ProcessInfo& more = {});

}  // namespace forebay::runtime
