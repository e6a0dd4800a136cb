#include "agent/keyed_hash.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstring>

namespace forebay::agent {
namespace {

struct State {
  uint64_t v0, v1, v2, v3;

  void mix(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void take(uint64_t word) {
    v3 ^= word;
    mix(2);
    v0 ^= word;
  }
  uint64_t folded() const { return v0 ^ v1 ^ v2 ^ v3; }
};

}  // namespace

Key keyed_hash(const Key& key, std::span<const std::byte> bytes) {
  static_assert(std::endian::native == std::endian::little);
  State state{key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du ^ 0xeeu,
              key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
  std::size_t at = 0;
  for (; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    state.take(word);
  }
  uint64_t last = 0;
  if (at < bytes.size()) std::memcpy(&last, bytes.data() + at, bytes.size() - at);
  state.take(last | static_cast<uint64_t>(bytes.size()) << 56);
  state.v2 ^= 0xee;
  state.mix(4);
  Key result{state.folded(), 0};
  state.v1 ^= 0xdd;
  state.mix(4);
  result[1] = state.folded();
  return result;
}

Key random_key() {
  Key key{};
  while (getrandom(key.data(), sizeof key, 0) < 0 && errno == EINTR) {
  }
  return key;
}

}  // namespace forebay::agent
