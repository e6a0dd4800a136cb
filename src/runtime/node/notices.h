// What the runtime has to tell the user. It prints nothing itself: who drives it and has a user, as
// src/mpiio, gives its own Notices to the node that it joins and to the trace that it starts.
#pragma once

#include <cstdint>
#include <string>

namespace forebay::runtime {

// Lives as long as the process. This one says nothing; called by any thread.
class Notices {
 public:
  // Bytes that an earlier job of this node had written: storage has them now, or still lacks them.
  // Told by the process that is the first of its job, of each file once.
  virtual void saved(const std::string& /*path*/, int64_t /*bytes*/) {}
  virtual void missing(const std::string& /*path*/, int64_t /*bytes*/,
                       const std::string& /*problem*/, const std::string& /*arena_dir*/) {}

  // There is no memory for pages of the file, whose accesses go past the cache. Once on a node;
  // takes no memory.
  virtual void no_memory_for_pages(const char* /*path*/) {}

  // No access will be recorded, as the system gave `error` for `path`.
  virtual void not_traced(const std::string& /*path*/, int /*error*/) {}
  // The trace has ended and lacks accesses, as the system gave `error`.
  virtual void trace_lacks(const std::string& /*path*/, uint64_t /*accesses*/, int /*error*/) {}
};

inline Notices silence;

}  // namespace forebay::runtime
