// Replacement policies: which frame of a shard is the next victim. One file per policy, one line
// in policies(). Index-linked state in the arena, no allocation, constant time an operation.
#pragma once

#include <cstddef>
#include <cstdint>
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

inline uint64_t mix(uint64_t value) {  // SplitMix64's finaliser
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

inline uint64_t hash_of(PageKey key) {
  return mix(key.file * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(key.page));
}

// What a driver tells a policy of the frames it may choose from.
class Candidates {
 public:
  // The frame may be given away now.
  virtual bool evictable(FrameIndex frame) const = 0;
  // What must be written before the frame can be given away, in requests_unit-ths of a request for
  // each page that becomes clean with it; 0: nothing.
  virtual uint32_t commit_cost(FrameIndex frame) const = 0;
  static constexpr uint32_t requests_unit = 64;

 protected:
  ~Candidates() = default;
};

// A view on one shard's policy state; made anew in each process that maps the arena, it keeps
// nothing of its own. Callers hold the shard's lock.
//
// What a driver calls, for an access to a page in
//   a frame:      hit
//   no frame:     insert, if a frame is free; else victim and replace
// victim() may be asked again, for the same page or another, before anything is replaced: it may
// age the state (move a clock's hand), but learns only from hit(), insert() and replace(). These
// find by the key whether the page is a ghost that has come back.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual void reset() = 0;                                // no frame is resident, no key known
  virtual void hit(FrameIndex frame, PageKey key) = 0;     // access to a resident page
  virtual void insert(FrameIndex frame, PageKey key) = 0;  // a missed page came to a free frame
  // The victim's page `old` left the cache, and the missed page `key` came in its place.
  virtual void replace(FrameIndex frame, PageKey old, PageKey key) = 0;
  virtual void prefetch(FrameIndex) {}       // an access to the frame's page is likely to follow
  virtual void prefetch_missing(PageKey) {}  // likewise, to a page in no frame
  // A resident page left without being evicted (its file was dropped): it becomes no ghost.
  virtual void remove(FrameIndex frame, PageKey key) = 0;
  // The victim for `incoming`, among resident frames that are evictable; still resident until it is
  // replaced. no_frame when there is none.
  virtual FrameIndex victim(PageKey incoming, const Candidates& candidates) = 0;
};

struct PolicySpec {
  const char* name;
  const char* meaning;
  // Memory for the state, aligned to 8, with room for what is remembered beyond the frames.
  std::size_t (*state_bytes)(uint32_t frames);
  // `state` is as reset() or another view left it.
  std::unique_ptr<Policy> (*attach)(void* state, uint32_t frames);
};

// Of a class with `state_bytes` and a constructor that takes what `attach` does.
template <typename P>
constexpr PolicySpec policy_spec(const char* name, const char* meaning) {
  return {name, meaning, P::state_bytes,
          [](void* state, uint32_t frames) -> std::unique_ptr<Policy> {
            return std::make_unique<P>(state, frames);
          }};
}

std::span<const PolicySpec> policies();
const PolicySpec* find_policy(std::string_view name);  // nullptr: no such policy

}  // namespace forebay
