// The engine's cache with a driver that carries out every plan at once: no bytes, no locks, storage
// that never fails. If it is given the steps of a runtime's cache with the option `deterministic`,
// in order, it counts what that cache counted, since both run the same code.
//
// It does not simulate storage that fails, memory that is refused, and programs that change a file
// past MPI.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/cache_handle.h"
#include "sim/recorded_steps.h"

namespace forebay::sim {

// The options of the same names, and beyond them what baselines of simulations need: pages from 64
// bytes on, a cache of one page, bypass_bytes = beyond_capacity (rules.h). With a commit_size_bytes
// of at most a page, dirty pages are evicted one by one, not as lists. `handles.deterministic` and
// `handles.step_aside` are ignored: an instant cache is deterministic, and has no time to measure.
struct CacheSettings {
  CacheShape shape;
  HandleRules handles;
  int64_t commit_size_bytes = 4 << 20;
  bool commit_at_last_close = false;  // commit_at_close=last
};

class InstantCache {
 public:
  using HandleIndex = uint32_t;

  explicit InstantCache(const CacheSettings& settings);
  ~InstantCache();
  InstantCache(const InstantCache&) = delete;
  InstantCache& operator=(const InstantCache&) = delete;

  // Opens a handle of `file`, which is any number that the caller has given to the file. `bytes`:
  // the size that readers see, the larger of storage's size and the end of cached bytes. The file's
  // clean pages are dropped if others have it open, except for an agent.
  HandleIndex open(uint64_t file, bool reads, int64_t bytes, bool by_agent = false);
  // Closes a handle: commits what was written through it, unless `discard`; the last handle of the
  // file commits all of it.
  void close(HandleIndex handle, bool discard, AtLeave at_leave = AtLeave::as_option);
  // From now on the handle's writes count as those of a writer with this number.
  void write_as(HandleIndex handle, uint32_t number);
  // Carries out an access; returns the bytes before the end of the file.
  int64_t access(HandleIndex handle, const Access& access);
  // The same past the cache.
  void access_past(HandleIndex handle, bool writes, Extent extent);
  // From now on nothing is fetched ahead for the handle.
  void end_read_ahead(HandleIndex handle);
  // `own`: only what was written through the handle.
  void commit(HandleIndex handle, bool own);
  void commit_range(HandleIndex handle, Extent range);
  void drop_clean(HandleIndex handle);
  void drop_range(HandleIndex handle, Extent range);
  void truncate(HandleIndex handle, int64_t bytes);
  // Sets the file's size in storage.
  void resize(HandleIndex handle, int64_t bytes);

  // The counts of all handles, closed ones too.
  const Statistics& statistics() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace forebay::sim
