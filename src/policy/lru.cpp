#include "policy/lru.h"

namespace forebay {

std::size_t LruPolicy::state_bytes(uint32_t frames) {
  return (static_cast<std::size_t>(frames) + 1) * sizeof(Link);
}

std::unique_ptr<Policy> LruPolicy::attach(void* state, uint32_t frames) {
  return std::make_unique<LruPolicy>(state, frames);
}

}  // namespace forebay
