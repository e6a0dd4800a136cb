// The memory of one cache: header, shards, frames and page states. They are found from a base
// address, which may differ from process to process. The pages' data lies there too, but only
// drivers use it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "arena/arena.h"
#include "engine/shard.h"
#include "page/page_kind.h"

namespace forebay {

// The sizes and variants of one cache.
struct CacheShape {
  const PageKind* page_kind = nullptr;
  const PolicySpec* policy = nullptr;
  int64_t page_size = 0;         // bytes
  int64_t capacity_bytes = 0;    // of the whole cache
  int64_t shards = 0;            // 0: by the number of frames
  double write_back_buffer = 0;  // part of the frames that holds evicted pages until storage does
};

class CacheArena {
 public:
  // A file that no handle has open, and whose pages, all clean, stay for its next open.
  struct Resting {
    std::atomic<uint64_t> file{0};   // FileState::id; 0: none
    std::atomic<uint64_t> since{0};  // its number among the files that came to rest
  };
  static constexpr std::size_t most_resting = 32;
  struct Header {
    std::atomic<uint32_t> dirty_frames{0};
    std::atomic<uint32_t> committing_frames{0};
    std::atomic<uint32_t> usable_frames{0};  // of all shards; 0 until a first page is needed
    std::atomic<uint64_t> rests{0};          // files that came to rest so far
    std::array<Resting, most_resting> resting;
  };

  // `driver_shard_bytes`: memory for the driver's own state of each shard (such as its lock).
  CacheArena(const CacheShape& shape, std::size_t driver_shard_bytes);

  const ArenaLayout& layout() const { return layout_; }
  // Uses the arena at `base`, which create() made in this process or in another.
  void attach(std::byte* base);
  // Makes an empty arena at `base`, in zeroed memory, and attaches to it.
  void create(std::byte* base);

  const PageKind& kind() const { return *kind_; }
  int64_t page_size() const { return shape_.page_size; }
  uint32_t frames() const { return shape_.frames; }
  int64_t capacity_bytes() const { return shape_.page_size * shape_.frames; }
  uint32_t shards() const { return shape_.shards; }
  uint32_t frames_per_shard() const { return shape_.frames_per_shard(); }

  Header& header() const { return *header_; }
  Shard& shard(uint32_t number) { return shards_[number]; }
  Frame* frame_table() const { return frames_; }
  Frame& frame(FrameIndex index) const { return frames_[index]; }
  void* page_state(FrameIndex frame) const {
    return base_ + layout_.page_states + layout_.page_state_stride * frame;
  }
  std::byte* page_data(FrameIndex frame) const {
    return base_ + layout_.data + static_cast<std::size_t>(shape_.page_size) * frame;
  }
  std::byte* driver_shard(uint32_t number) const {
    return base_ + layout_.driver + number * layout_.driver_stride;
  }

 private:
  const PageKind* kind_;
  const PolicySpec* policy_;
  double write_back_buffer_;
  ArenaShape shape_;
  ArenaLayout layout_;
  std::byte* base_ = nullptr;
  Header* header_ = nullptr;
  Frame* frames_ = nullptr;
  std::vector<Shard> shards_;
};

}  // namespace forebay
