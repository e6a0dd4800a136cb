// The memory of an agent for questions under way, which bring what ranks write: however many ranks
// ask, it stays bounded, and later questions wait on their connections. Answers leave in pieces,
// and need none of it: an agent that waited for room for an answer while a rank waits for another
// agent's could wait in a circle.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace forebay::agent {

// What a buffer keeps between two messages, so that small ones take no memory each time.
inline constexpr std::size_t most_kept_bytes = 64 << 10;

template <typename Value>
void keep_little(std::vector<Value>& buffer) {
  if (buffer.capacity() * sizeof(Value) > most_kept_bytes) std::vector<Value>().swap(buffer);
}

// Any thread may use it.
class MessageMemory {
 public:
  explicit MessageMemory(int64_t most_bytes) : most_bytes_(most_bytes) {}

  // Waits until there is room. A message larger than all the memory waits until it is alone.
  void take(int64_t bytes);
  void give_back(int64_t bytes);
  // The most that was taken at a time.
  int64_t highest() const;

 private:
  const int64_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t taken_ = 0;
  int64_t highest_ = 0;
};

// What one connection has taken, for one question at a time; it gives it back at its end.
class TakenMemory {
 public:
  explicit TakenMemory(MessageMemory& memory) : memory_(memory) {}
  ~TakenMemory() { memory_.give_back(bytes_); }
  TakenMemory(const TakenMemory&) = delete;
  TakenMemory& operator=(const TakenMemory&) = delete;
  void take(int64_t bytes) {
    memory_.take(bytes);
    bytes_ = bytes;
  }
  void give_back() { memory_.give_back(std::exchange(bytes_, 0)); }

 private:
  MessageMemory& memory_;
  int64_t bytes_ = 0;
};

}  // namespace forebay::agent
