#include "simulated/byte_model.h"

#include <algorithm>
#include <sstream>

namespace forebay::test {
namespace {

template <typename... Words>
std::string text(const Words&... words) {
  std::ostringstream out;
  (out << ... << words);
  return out.str();
}

}  // namespace

ByteModel::ByteModel(const std::vector<std::byte>& first_bytes, int64_t most_bytes, uint32_t nodes)
    : bytes_(static_cast<std::size_t>(most_bytes)),
      begun_end_(std::ssize(first_bytes)),
      ended_ends_(nodes, std::ssize(first_bytes)) {
  for (std::size_t i = 0; i < first_bytes.size(); ++i)
    bytes_[i].first = static_cast<uint8_t>(first_bytes[i]);
}

bool ByteModel::may_write(Extent extent, uint32_t rank) const {
  for (int64_t at = extent.offset; at < extent.end(); ++at) {
    const Byte& byte = bytes_[static_cast<std::size_t>(at)];
    if (byte.handed_over != byte.begun && node_of(byte) != rank % ended_ends_.size()) return false;
  }
  return true;
}

std::vector<std::byte> ByteModel::begin_write(Extent extent, uint32_t rank) {
  std::vector<std::byte> values;
  values.reserve(static_cast<std::size_t>(extent.length));
  for (int64_t at = extent.offset; at < extent.end(); ++at) {
    Byte& byte = bytes_[static_cast<std::size_t>(at)];
    values.push_back(static_cast<std::byte>(byte.first + ++byte.begun));
    byte.writer = rank;
  }
  begun_end_ = std::max(begun_end_, extent.end());
  return values;
}

void ByteModel::end_write(Extent extent) {
  for (int64_t at = extent.offset; at < extent.end(); ++at) {
    Byte& byte = bytes_[static_cast<std::size_t>(at)];
    byte.ended = byte.begun;
    byte.ended_by = byte.writer;
  }
  if (extent.empty()) return;
  int64_t& end = ended_ends_[node_of(bytes_[static_cast<std::size_t>(extent.offset)])];
  end = std::max(end, extent.end());
}

void ByteModel::hand_over() {
  for (Byte& byte : bytes_) byte.handed_over = byte.ended;
  std::ranges::fill(ended_ends_, std::ranges::max(ended_ends_));
}

void ByteModel::truncate(int64_t bytes) {
  for (std::size_t at = static_cast<std::size_t>(bytes); at < bytes_.size(); ++at) {
    Byte& byte = bytes_[at];
    byte.ended = byte.handed_over = byte.in_storage = byte.begun;
    byte.first = static_cast<uint8_t>(-byte.begun);
  }
  begun_end_ = bytes;
  std::ranges::fill(ended_ends_, bytes);
}

int64_t ByteModel::unsaved_bytes(uint32_t node) const {
  return std::ranges::count_if(bytes_, [&](const Byte& byte) {
    return byte.in_storage < byte.ended && node_of(byte) == node;
  });
}

ByteModel::Moment ByteModel::now(Extent extent, uint32_t node) const {
  Moment moment{extent, {}, ended_ends_[node]};
  moment.ended.reserve(static_cast<std::size_t>(extent.length));
  for (int64_t at = extent.offset; at < extent.end(); ++at) {
    const Byte& byte = bytes_[static_cast<std::size_t>(at)];
    moment.ended.push_back(node_of(byte) == node ? byte.ended : byte.handed_over);
  }
  return moment;
}

void ByteModel::only_of(uint32_t rank, Moment& moment) const {
  for (int64_t at = moment.extent.offset; at < moment.extent.end(); ++at) {
    if (bytes_[static_cast<std::size_t>(at)].ended_by != rank)
      moment.ended[static_cast<std::size_t>(at - moment.extent.offset)] = 0;
  }
}

ByteModel::Moment ByteModel::at_the_end() const {
  Moment moment{{0, std::ssize(bytes_)}, {}, std::ranges::max(ended_ends_)};
  for (const Byte& byte : bytes_) moment.ended.push_back(byte.ended);
  return moment;
}

uint32_t ByteModel::write_of(const Byte& byte, uint32_t from, uint32_t to, std::byte value) {
  const auto write = from + static_cast<uint8_t>(static_cast<uint8_t>(value) - byte.first - from);
  return write <= to ? write : UINT32_MAX;
}

std::string ByteModel::describe(int64_t offset, std::byte found, uint32_t from, uint32_t to) const {
  const Byte& byte = bytes_[static_cast<std::size_t>(offset)];
  const auto write = static_cast<uint8_t>(static_cast<uint8_t>(found) - byte.first);
  return text("byte ", offset, " is of write ", int{write}, " (modulo 256), not of one of ", from,
              " to ", to);
}

std::string ByteModel::check_read(const Moment& moment, std::span<const std::byte> bytes) const {
  const auto known = [&](int64_t end) {
    return std::clamp<int64_t>(end - moment.extent.offset, 0, moment.extent.length);
  };
  if (std::ssize(bytes) < known(moment.end) || std::ssize(bytes) > known(begun_end_))
    return text("a read at ", moment.extent.offset, " got ", bytes.size(), " bytes, not ",
                known(moment.end), " to ", known(begun_end_));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int64_t at = moment.extent.offset + static_cast<int64_t>(i);
    const Byte& byte = bytes_[static_cast<std::size_t>(at)];
    if (write_of(byte, moment.ended[i], byte.begun, bytes[i]) == UINT32_MAX)
      return "a read: " + describe(at, bytes[i], moment.ended[i], byte.begun);
  }
  return "";
}

std::string ByteModel::check_size(int64_t bytes) const {
  if (bytes >= ended_ends_.front() && bytes <= begun_end_) return "";
  return text("the file seems to have ", bytes, " bytes, not ", ended_ends_.front(), " to ",
              begun_end_);
}

std::string ByteModel::check_stored(int64_t offset, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int64_t at = offset + static_cast<int64_t>(i);
    Byte& byte = bytes_[static_cast<std::size_t>(at)];
    const uint32_t write = write_of(byte, byte.in_storage, byte.begun, bytes[i]);
    if (write == UINT32_MAX)
      return "storage gets: " + describe(at, bytes[i], byte.in_storage, byte.begun);
    byte.in_storage = write;
  }
  return "";
}

std::string ByteModel::check_storage(const Moment& moment,
                                     std::span<const std::byte> stored) const {
  const int64_t end = std::min(moment.end, moment.extent.end());
  for (int64_t at = moment.extent.offset; at < end; ++at) {
    const Byte& byte = bytes_[static_cast<std::size_t>(at)];
    const auto i = static_cast<std::size_t>(at - moment.extent.offset);
    const std::byte value =
        at < std::ssize(stored) ? stored[static_cast<std::size_t>(at)] : std::byte{0};
    if (moment.ended[i] > 0 && at >= std::ssize(stored))
      return text("storage ends at ", stored.size(), " and lacks byte ", at);
    if (write_of(byte, moment.ended[i], byte.begun, value) == UINT32_MAX)
      return "storage: " + describe(at, value, moment.ended[i], byte.begun);
  }
  return "";
}

}  // namespace forebay::test
