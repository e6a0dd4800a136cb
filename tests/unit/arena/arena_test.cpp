#include "arena/arena.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace forebay {
namespace {

constexpr int64_t page_size = 64 << 10;

TEST(ArenaTest, HasAtLeastOneFrameAndOneShard) {
  for (const int64_t shards : {0, 1, 64}) {
    const ArenaShape shape = shape_arena(1, page_size, shards);
    EXPECT_EQ(shape.frames, 1u);
    EXPECT_EQ(shape.shards, 1u);
    EXPECT_EQ(shape.page_size, page_size);
  }
}

TEST(ArenaTest, SharesFramesEquallyAndNeverHasMoreThanItsCapacity) {
  for (int64_t frames = 1; frames < 3000; ++frames) {
    for (const int64_t wanted : {0, 1, 3, 16, 1000}) {
      const ArenaShape shape = shape_arena(frames * page_size + 1, page_size, wanted);
      EXPECT_EQ(shape.frames % shape.shards, 0u);
      EXPECT_LE(shape.frames, frames);
      EXPECT_GT(shape.frames + shape.shards, frames);
      EXPECT_EQ(shape.shards & (shape.shards - 1), 0u);
      EXPECT_LE(shape.shards, wanted > 0 ? wanted : frames);
      EXPECT_GE(shape.buckets_per_shard(), shape.frames_per_shard());
    }
  }
}

TEST(ArenaTest, IsOneShardWhileItIsSmall) {
  EXPECT_EQ(shape_arena(127 * page_size, page_size, 0).shards, 1u);
  EXPECT_GT(shape_arena(128 * page_size, page_size, 0).shards, 1u);
}

TEST(ArenaTest, PlacesItsPartsOneAfterTheOther) {
  ArenaShape shape = shape_arena(300 * page_size, page_size, 4);
  shape.page_state_bytes = 1000;
  shape.policy_state_bytes = 70;
  shape.shard_state_bytes = 130;
  shape.frame_state_bytes = 64;
  shape.driver_shard_bytes = 40;
  const ArenaLayout layout(shape, 200);
  EXPECT_GE(layout.shards, 200u);
  EXPECT_GE(layout.driver, layout.shards + 130 * shape.shards);
  EXPECT_GE(layout.buckets, layout.driver + layout.driver_stride * shape.shards);
  EXPECT_GE(layout.policies,
            layout.buckets + sizeof(uint32_t) * shape.buckets_per_shard() * shape.shards);
  EXPECT_GE(layout.frames, layout.policies + layout.policy_stride * shape.shards);
  EXPECT_GE(layout.page_states, layout.frames + 64 * shape.frames);
  EXPECT_GE(layout.data, layout.page_states + layout.page_state_stride * shape.frames);
  EXPECT_GE(layout.total, layout.data + static_cast<std::size_t>(page_size) * shape.frames);
  for (const std::size_t stride :
       {layout.driver_stride, layout.policy_stride, layout.page_state_stride})
    EXPECT_EQ(stride % 64, 0u);
  for (const std::size_t place : {layout.page_states, layout.data, layout.total})
    EXPECT_EQ(place % 4096, 0u);
}

}  // namespace
}  // namespace forebay
