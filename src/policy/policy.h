// Replacement policies: which frame of a shard is the next victim. One file per policy, one line
// in policies(). Index-linked state in the arena, no allocation, constant time an operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace forebay {

using FrameIndex = uint32_t;
inline constexpr FrameIndex no_frame = 0xffffffffu;

// What a page is known by: file entry and page number.
struct PageKey {
  uint64_t file = 0;
  int64_t page = 0;
  bool operator==(const PageKey&) const = default;
};

// A view on one shard's policy state; made anew in each process that maps the arena.
// Callers hold the shard's lock.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual void reset() = 0;                                // no frame is resident
  virtual void hit(FrameIndex frame, PageKey key) = 0;     // access to a resident page
  virtual void insert(FrameIndex frame, PageKey key) = 0;  // a missed page came to `frame`
  virtual void remove(FrameIndex frame, PageKey key) = 0;  // page left without being evicted
  // The victim for `incoming`, among frames that `evictable` accepts; still resident until
  // evicted(). no_frame when none is acceptable.
  virtual FrameIndex victim(PageKey incoming, const std::function<bool(FrameIndex)>& evictable) = 0;
  virtual void evicted(FrameIndex frame, PageKey key) = 0;  // the victim left the cache
};

struct PolicySpec {
  const char* name;
  const char* meaning;
  std::size_t (*state_bytes)(uint32_t frames);
  std::unique_ptr<Policy> (*attach)(void* state, uint32_t frames);
};

std::span<const PolicySpec> policies();
const PolicySpec* find_policy(std::string_view name);  // nullptr: no such policy

}  // namespace forebay
