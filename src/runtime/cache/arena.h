// One of the node's caches, as this process sees it: the segment that holds its arena, the driver
// and the engine. Each process of the node that uses the arena has such an object.
#pragma once

#include <memory>
#include <string>

#include "engine/cache.h"
#include "runtime/cache/arena_driver.h"

namespace forebay::runtime {

using ArenaCache = Cache<ArenaDriver>;

class Arena {
 public:
  // Opens the arena at `path`, or creates it. The other parameters are those of ArenaDriver. Null,
  // and a status: the arena cannot be opened or created.
  static std::unique_ptr<Arena> join(const std::string& path, uint32_t number,
                                     const ArenaConfig& config, Registry& registry, Registry* job,
                                     uint32_t process, ArenaDriver::Callbacks callbacks,
                                     Status* status);
  void remove() { segment_->remove(); }
  ArenaCache& cache() { return cache_; }

 private:
  Arena(const ArenaConfig& config, uint32_t number, Registry& registry, Registry* job,
        uint32_t process, ArenaDriver::Callbacks callbacks);

  CacheArena arena_;
  ArenaDriver driver_;
  ArenaCache cache_;
  std::unique_ptr<SharedSegment> segment_;
};

}  // namespace forebay::runtime
