// The engine's cache with a driver that carries out every plan at once: no bytes, no locks, storage
// that never fails. Told in order what was done to a cache of the runtime with the option
// `deterministic`, it counts what that cache counted, since both are the same code.
//
// What it does not know: storage that fails, memory that is refused, and programs that change a
// file past MPI.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/cache_handle.h"

namespace forebay::sim {

// As the options of the same names. Of `handles`, `deterministic` and `step_aside` are left aside:
// an instant cache is deterministic, and there is no time to measure.
struct CacheSettings {
  CacheShape shape;
  HandleRules handles;
  int64_t commit_size_bytes = 4 << 20;
};

class InstantCache {
 public:
  using HandleIndex = uint32_t;

  explicit InstantCache(const CacheSettings& settings);
  ~InstantCache();
  InstantCache(const InstantCache&) = delete;
  InstantCache& operator=(const InstantCache&) = delete;

  // A handle of `file`, whichever number the caller knows it by; `bytes` is its size in storage or,
  // as far as it is larger, with what the cache holds.
  HandleIndex open(uint64_t file, bool reads, int64_t bytes);
  void close(HandleIndex handle, bool discard);
  // The bytes before the end of the file.
  int64_t access(HandleIndex handle, const Access& access);
  void commit(HandleIndex handle);
  void drop_clean(HandleIndex handle);
  void truncate(HandleIndex handle, int64_t bytes);
  // Storage has given the file this size.
  void resize(HandleIndex handle, int64_t bytes);

  // Of all handles, closed ones too.
  const Statistics& statistics() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace forebay::sim
