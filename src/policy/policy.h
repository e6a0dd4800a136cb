// Replacement policies: which frame of a shard is the next victim. There is one file per policy,
// and one line in policies(). The state is in the arena, linked by index. Operations take constant
// time and allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace forebay {

using FrameIndex = uint32_t;
inline constexpr FrameIndex no_frame = 0xffffffffu;

// Identifies a page: file and page number. Policies remember the keys of evicted pages (ghosts), so
// the number of a file is not given to another file while the arena lives.
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

// What a driver tells a policy about the frames.
class Candidates {
 public:
  // Whether the frame may be evicted now.
  virtual bool evictable(FrameIndex frame) const = 0;
  // The cost of evicting the frame: 0 if nothing must be written, otherwise the requests needed, in
  // units of 1 / requests_unit, per page that they make clean.
  virtual uint32_t commit_cost(FrameIndex frame) const = 0;
  static constexpr uint32_t requests_unit = 64;

 protected:
  ~Candidates() = default;
};

// A view of one shard's policy state. Each process that maps the arena makes its own view, which
// stores nothing itself. Callers hold the shard's lock.
//
// At an access, the driver calls
//   hit                  if the page is in a frame
//   insert               if it is not, and a frame is free
//   victim and replace   if it is not, and no frame is free
// victim() may be called again, for the same or another page, before a frame is replaced. It may
// age the state (move a clock's hand), but only hit(), insert() and replace() record accesses. They
// find by the key whether the page is a ghost.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual void reset() = 0;  // afterwards no frame is resident and no key known
  virtual void hit(FrameIndex frame, PageKey key) = 0;     // access to a resident page
  virtual void insert(FrameIndex frame, PageKey key) = 0;  // a missed page came to a free frame
  // The page `old` of the frame `victim` was evicted, and the missed page `key` came to `frame`:
  // the same frame, or a free one.
  virtual void replace(FrameIndex victim, PageKey old, FrameIndex frame, PageKey key) = 0;
  virtual void prefetch(FrameIndex) {}       // an access to the frame's page will probably follow
  virtual void prefetch_missing(PageKey) {}  // the same for a page in no frame
  // A resident page left without eviction (its file was dropped). It becomes no ghost.
  virtual void remove(FrameIndex frame, PageKey key) = 0;
  // For policies that use what is foreseen. Time is counted in accesses.
  virtual bool foresees() const { return false; }
  virtual uint64_t now() const { return 0; }
  // The page, which is in `frame` or in none (no_frame), will be accessed then. The policy may know
  // no more than so many such accesses for each frame.
  static constexpr uint32_t foreseen_a_frame = 32;
  virtual void foresee(PageKey, FrameIndex /*frame*/, uint64_t /*when*/) {}
  // This foreseen access took place, or is void.
  virtual void forget(PageKey, FrameIndex /*frame*/, uint64_t /*when*/) {}
  // The victim for `incoming`: an evictable resident frame, or no_frame. The frame stays resident
  // until replace().
  virtual FrameIndex victim(PageKey incoming, const Candidates& candidates) = 0;
};

struct PolicySpec {
  const char* name;
  const char* meaning;
  // Memory for the state, aligned to 8, what is remembered of evicted pages included.
  std::size_t (*state_bytes)(uint32_t frames);
  // `state` is as reset() or another view left it.
  std::unique_ptr<Policy> (*attach)(void* state, uint32_t frames);
};

// The entry of a class with `state_bytes` and a constructor with the parameters of `attach`.
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
