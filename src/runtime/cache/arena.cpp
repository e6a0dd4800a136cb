#include "runtime/cache/arena.h"

#include <utility>

namespace forebay::runtime {
namespace {

CacheShape shape_of(const ArenaConfig& config) {
  return {page_kinds()[config.page_kind],
          &policies()[config.policy],
          config.page_size,
          config.capacity_bytes,
          config.shards,
          config.write_back_buffer};
}

}  // namespace

Arena::Arena(const ArenaConfig& config, uint32_t number, Registry& registry, Registry* job,
             uint32_t process, ArenaDriver::Callbacks callbacks)
    : arena_(shape_of(config), ArenaDriver::shard_bytes()),
      driver_(arena_, number, registry, job, process, std::move(callbacks)),
      cache_(arena_, driver_) {}

std::unique_ptr<Arena> Arena::join(const std::string& path, uint32_t number,
                                   const ArenaConfig& config, Registry& registry, Registry* job,
                                   uint32_t process, ArenaDriver::Callbacks callbacks,
                                   Status* status) {
  std::unique_ptr<Arena> made(
      new Arena(config, number, registry, job, process, std::move(callbacks)));
  const ArenaLayout& layout = made->arena_.layout();
  made->segment_ = SharedSegment::join(
      path, layout.total, layout.frames,
      [&](std::byte* base) {
        made->arena_.create(base);
        made->driver_.init_shards();
      },
      status);
  if (made->segment_ == nullptr) return nullptr;
  made->arena_.attach(made->segment_->base());
  made->driver_.use(*made->segment_);
  return made;
}

}  // namespace forebay::runtime
