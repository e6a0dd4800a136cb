#include "policy/fifo.h"

namespace forebay {

std::size_t FifoPolicy::state_bytes(uint32_t frames) {
  return (static_cast<std::size_t>(frames) + 1) * sizeof(Link);
}

std::unique_ptr<Policy> FifoPolicy::attach(void* state, uint32_t frames) {
  return std::make_unique<FifoPolicy>(state, frames);
}

}  // namespace forebay
