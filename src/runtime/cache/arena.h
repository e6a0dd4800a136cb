// One cache of the node, as this process is attached to it: the segment with its arena, the driver,
// and the engine on them. All processes of the node that use the arena hold one.
#pragma once

#include <memory>
#include <string>

#include "engine/cache.h"
#include "runtime/cache/arena_driver.h"

namespace forebay::runtime {

using ArenaCache = Cache<ArenaDriver>;

class Arena {
 public:
  // Opens the arena at `path`, or makes it. Other parameters as for ArenaDriver. Null, and a
  // status: it cannot be had.
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
