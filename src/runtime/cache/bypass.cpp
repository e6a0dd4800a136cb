#include "runtime/cache/cached_file.h"

namespace forebay::runtime {
namespace {

template <typename Source>
Status bypass_write(CacheHandle<ArenaDriver>& handle, Extent extent, Source source,
                    int64_t* moved) {
  const Status status = handle.bypass_write(extent, source);
  *moved = status.ok() ? extent.length : 0;
  return status;
}

}  // namespace

Status CachedFile::bypass(bool writes, Extent extent, std::byte* memory, int64_t* moved,
                          int64_t began_ns) {
  const std::byte* const source = memory;
  return writes ? bypass_write(*handle_, extent, source, moved)
                : handle_->bypass_read(extent, memory, moved, began_ns);
}

Status CachedFile::bypass(bool writes, Extent extent, ScatteredMemory memory, int64_t* moved,
                          int64_t began_ns) {
  return writes ? bypass_write(*handle_, extent, memory, moved)
                : handle_->bypass_read(extent, memory, moved, began_ns);
}

Status CachedFile::read_held(Extent extent, std::byte* memory, int64_t* moved, int64_t* held) {
  // Two nodes that fetch from each other must not wait for each other for long. They hardly ever
  // do: what is fetched ahead of an owner's bytes does not wait for another owner (fetch_ahead()).
  constexpr int most_waits = 200;
  constexpr timespec wait{0, 200'000};
  for (int waits = 0; waits < most_waits && cache_->any_filling(file_, extent); ++waits)
    nanosleep(&wait, nullptr);
  return handle_->read_held(extent, memory, moved, held);
}

Status CachedFile::settle(Extent range, bool forget) {
  Turn turn = step_turn();
  note_step(turn, CacheStep::commit_range, range.offset, range.length);
  const Status status = within_memory([&] { return cache_->commit(file_, range); });
  if (!forget) return status;
  turn.next();
  note_step(turn, CacheStep::drop_range, range.offset, range.length);
  cache_->drop(file_, range, false);
  return status;
}

}  // namespace forebay::runtime
