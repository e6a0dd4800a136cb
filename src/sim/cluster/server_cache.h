// The blocks that a simulated server has in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::sim {

// Blocks in memory, found by object and block. 36 bytes each beside their content, which is not
// kept.
class ServerCache {
 public:
  static constexpr uint32_t none = UINT32_MAX;
  enum class State : uint8_t {
    clean,    // in the list of clean frames, the least recently used one first
    dirty,    // in its object's list, in the order of becoming dirty
    writing,  // being written back by a request
    written,  // the same, and written by a call since
    filling,  // being read by a request
  };
  struct Frame {
    uint32_t object, block;
    uint32_t previous, next;  // in a list
    State state;
    uint32_t request() const { return previous; }  // if it is in no list
  };
  struct List {
    uint32_t first = none, last = none;
  };

  explicit ServerCache(int64_t capacity) : capacity_(static_cast<uint32_t>(capacity)) {}

  uint32_t find(uint32_t object, int64_t block) const;
  // A frame for a block that is not cached, in state `filling`. None if no frame is free or clean.
  uint32_t insert(uint32_t object, int64_t block);
  // Of a frame that is in no list.
  void erase(uint32_t frame);
  void append(List& list, uint32_t frame);
  void unlink(List& list, uint32_t frame);

  Frame& operator[](uint32_t frame) { return frames_[frame]; }
  uint32_t capacity() const { return capacity_; }
  uint32_t used() const { return static_cast<uint32_t>(frames_.size()); }  // at some time
  bool holds(uint32_t frame) const { return frames_[frame].object != none; }
  List clean;

 private:
  // An open hash table. Sixteen neighbouring blocks of an object have neighbouring home slots.
  struct Slot {
    uint32_t hash = 0;
    uint32_t frame = none;
  };
  static uint32_t hash_of(uint32_t object, uint32_t block);
  std::size_t slot_of(uint32_t frame) const;
  void grow();

  uint32_t capacity_;
  std::vector<Frame> frames_;
  uint32_t free_ = none;
  std::vector<Slot> slots_ = std::vector<Slot>(64);
  std::size_t mask_ = 63;
  std::size_t count_ = 0;
};

}  // namespace forebay::sim
