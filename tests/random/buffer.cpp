#include "buffer.h"

#include <algorithm>
#include <cstring>

namespace random_io {
namespace {

constexpr int64_t kGuardBytes = 32;

}  // namespace

Buffer::Buffer(const Part& part, const Transfer& transfer)
    : type_(part.memory), bytes_(transfer.bytes) {
  const int64_t low = type_->true_lower;
  const int64_t span =
      part.count == 0 ? 0 : (part.count - 1) * type_->extent() + type_->true_upper - low;
  storage_.assign(static_cast<std::size_t>(span + 3 * kGuardBytes + part.shift), kGuard);
  const int64_t alignment = ((low % 16) + 16) % 16;
  base_ = storage_.data() + kGuardBytes + alignment + part.shift - low;
  if (!transfer.write) return;
  walk(*type_, 0, 0, bytes_, [&](int64_t offset, int64_t length, int64_t position) {
    fill_values(transfer.id, position, length, base_ + offset);
  });
}

std::vector<std::byte> Buffer::take_data() {
  std::vector<std::byte> data(static_cast<std::size_t>(bytes_));
  walk(*type_, 0, 0, bytes_, [&](int64_t offset, int64_t length, int64_t position) {
    std::memcpy(data.data() + position, base_ + offset, static_cast<std::size_t>(length));
    std::memset(base_ + offset, static_cast<int>(kGuard), static_cast<std::size_t>(length));
  });
  return data;
}

bool Buffer::gaps_intact() const {
  return std::all_of(storage_.begin(), storage_.end(), [](std::byte b) { return b == kGuard; });
}

}  // namespace random_io
