// What the runtime has to tell the user. The runtime prints nothing itself: a caller that has a
// user, such as src/mpiio, gives its own Notices to the node that it joins and to the trace that it
// starts.
#pragma once

#include <cstdint>
#include <string>

namespace forebay::runtime {

// An object lives as long as the process, and any thread may call it. The members of this class do
// nothing.
class Notices {
 public:
  // Bytes that an earlier job on this node had written: storage has them now (saved), or still
  // lacks them (missing). Only the first process of a job calls these, once for each file and
  // problem.
  virtual void saved(const std::string& /*path*/, int64_t /*bytes*/) {}
  virtual void missing(const std::string& /*path*/, int64_t /*bytes*/,
                       const std::string& /*problem*/, const std::string& /*arena_dir*/) {}

  // There is no memory for pages of the file, so its accesses go past the cache. Called once on a
  // node; must not need memory.
  virtual void no_memory_for_pages(const char* /*path*/) {}

  // No access will be recorded: the system gave `error` for `path`.
  virtual void not_traced(const std::string& /*path*/, int /*error*/) {}
  // The trace has ended and lacks accesses: the system gave `error`.
  virtual void trace_lacks(const std::string& /*path*/, uint64_t /*accesses*/, int /*error*/) {}
};

inline Notices silence;

}  // namespace forebay::runtime
