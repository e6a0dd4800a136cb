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

// What a page is known by: file and page number. Policies remember keys of pages that have left
// (ghosts), so the number of a file is not given to another file while the arena lives.
struct PageKey {
  uint64_t file = 0;
  int64_t page = 0;
  bool operator==(const PageKey&) const = default;
};

// A view on one shard's policy state; made anew in each process that maps the arena, it keeps
// nothing of its own. Callers hold the shard's lock.
//
// What a driver calls, for an access to a page in
//   a frame:      hit
//   no frame:     insert; before it, if no frame is free, victim and evicted
// victim() may be asked again, for the same page or another, before anything is evicted: it may age
// the state (move a clock's hand), but learns only from hit() and insert(). insert() finds by its
// key whether the page is a ghost that has come back.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual void reset() = 0;                                // no frame is resident, no key known
  virtual void hit(FrameIndex frame, PageKey key) = 0;     // access to a resident page
  virtual void insert(FrameIndex frame, PageKey key) = 0;  // a missed page came to `frame`
  // A resident page left without being evicted (its file was dropped): it becomes no ghost.
  virtual void remove(FrameIndex frame, PageKey key) = 0;
  // The victim for `incoming`, among resident frames that `evictable` accepts; still resident until
  // evicted(). no_frame when none is acceptable.
  virtual FrameIndex victim(PageKey incoming, const std::function<bool(FrameIndex)>& evictable) = 0;
  virtual void evicted(FrameIndex frame, PageKey key) = 0;  // the victim left the cache
};

struct PolicySpec {
  const char* name;
  const char* meaning;
  // Memory for the state, aligned to 8, with room for what is remembered beyond the frames.
  std::size_t (*state_bytes)(uint32_t frames);
  // `state` is as reset() or another view left it.
  std::unique_ptr<Policy> (*attach)(void* state, uint32_t frames);
};

std::span<const PolicySpec> policies();
const PolicySpec* find_policy(std::string_view name);  // nullptr: no such policy

}  // namespace forebay
