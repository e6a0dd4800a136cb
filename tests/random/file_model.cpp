// The model's bytes: applies writes, and checks reads against every legal value.
#include "file_model.h"

#include <algorithm>
#include <cstring>

namespace random_io {
namespace {

uint64_t mix(uint32_t id, uint64_t word) {
  uint64_t x = id * 0x9E3779B97F4A7C15ull + (word + 1) * 0xD1B54A32D192ED03ull;
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9ull;
  return x ^ (x >> 32);
}

}  // namespace

void fill_values(uint32_t id, int64_t position, int64_t length, std::byte* out) {
  while (length > 0) {
    const uint64_t word = mix(id, static_cast<uint64_t>(position) / 8);
    const int64_t skip = position % 8, take = std::min<int64_t>(8 - skip, length);
    std::memcpy(out, reinterpret_cast<const std::byte*>(&word) + skip,
                static_cast<std::size_t>(take));
    out += take;
    position += take;
    length -= take;
  }
}

void FileModel::reset(bool file_exists) {
  exists = file_exists;
  cells_.clear();
  least_size_ = 0;
  conflicts_.clear();
  writes_.clear();
}

void FileModel::adopt(const std::vector<std::byte>& data) {
  reset(true);
  cells_.reserve(data.size());
  for (const std::byte byte : data) {
    cells_.push_back(kEarlierLife << 8 | static_cast<uint32_t>(byte));
  }
  least_size_ = settled_size();
}

void FileModel::add_write(TransferRef write) {
  if (write->bytes > 0) writes_.push_back(std::move(write));
}

const Transfer* FileModel::unsettled(uint32_t id) const {
  const auto found = std::lower_bound(
      writes_.begin(), writes_.end(), id,
      [](const TransferRef& write, uint32_t wanted) { return write->id < wanted; });
  return found != writes_.end() && (*found)->id == id ? found->get() : nullptr;
}

void FileModel::settle() {
  std::sort(writes_.begin(), writes_.end(),
            [](const TransferRef& a, const TransferRef& b) { return a->id < b->id; });
  for (const TransferRef& write : writes_) paint(*write);
  writes_.clear();
}

void FileModel::settle_killed(const std::function<Fate(const Transfer&)>& fate) {
  std::erase_if(writes_, [&](const TransferRef& write) { return fate(*write) == Fate::not_begun; });
  for (const TransferRef& write : writes_) {
    if (fate(*write) != Fate::returned) write->uncertain = true;
  }
  settle();
}

void FileModel::mark_uncertain(const std::set<uint32_t>& failed) {
  for (const TransferRef& write : writes_) {
    if (failed.contains(write->id)) write->uncertain = true;
  }
}

FileModel::Cells FileModel::set_at(int64_t offset) const {
  if (offset >= settled_size()) return {0};
  const uint32_t cell = cells_[static_cast<std::size_t>(offset)];
  if (cell >> 8 != kConflict) return {cell};
  return conflicts_.at(offset);
}

void FileModel::set_cell(int64_t offset, Cells values) {
  uint32_t& cell = cells_[static_cast<std::size_t>(offset)];
  if (values.size() == 1) {
    cell = values[0];
    conflicts_.erase(offset);
  } else {
    cell = kConflict << 8 | (values.back() & 0xFF);
    conflicts_[offset] = std::move(values);
  }
}

void FileModel::may_also_be(const FileModel& other) {
  least_size_ = std::min(least_size_, other.least_size_);
  if (other.settled_size() > settled_size()) cells_.resize(other.cells_.size(), 0);
  for (int64_t offset = 0; offset < settled_size(); ++offset) {
    const Cells theirs = other.set_at(offset);
    Cells values = set_at(offset);
    if (values == theirs) continue;
    values.insert(values.end(), theirs.begin(), theirs.end());
    set_cell(offset, std::move(values));
  }
}

void FileModel::paint(const Transfer& write) {
  if (write.high > settled_size()) cells_.resize(static_cast<std::size_t>(write.high), 0);
  if (write.hides()) least_size_ = std::max(least_size_, write.high);
  const uint32_t first = writes_.front()->id;
  std::vector<std::byte> values;
  for (const Piece& piece : write.pieces) {
    values.resize(static_cast<std::size_t>(piece.length));
    fill_values(write.id, piece.position, piece.length, values.data());
    uint32_t* cell = cells_.data() + piece.offset;
    for (int64_t i = 0; i < piece.length; ++i, ++cell) {
      const uint32_t painted =
          write.id << 8 | static_cast<uint32_t>(values[static_cast<size_t>(i)]);
      const uint32_t before = *cell >> 8;
      if (before < first && write.hides()) {
        *cell = painted;
        continue;
      }
      // The byte was written since the file was settled, or its earlier writers had collided, or it
      // may have its old value.
      const int64_t offset = piece.offset + i;
      Cells set = set_at(offset);
      std::erase_if(set, [&](uint32_t other) {
        const Transfer* earlier = unsettled(other >> 8);
        return write.hides() && (earlier == nullptr || earlier->happens_before(write));
      });
      set.push_back(painted);
      set_cell(offset, std::move(set));
    }
  }
}

SizeRange FileModel::size_seen(int actor, int64_t start, int64_t end) const {
  SizeRange range{least_size_, settled_size()};
  for (const TransferRef& write : writes_) {
    if (write->hides() && write->actor == actor && write->end < start)
      range.low = std::max(range.low, write->high);
    if (write->actor != actor || write->start <= end) {
      range.high = std::max(range.high, write->high);
    }
  }
  return range;
}

void FileModel::resize(int64_t bytes) {
  if (bytes < settled_size()) {
    std::erase_if(conflicts_, [&](const auto& entry) { return entry.first >= bytes; });
  }
  cells_.resize(static_cast<std::size_t>(bytes), 0);
  least_size_ = bytes;
}

std::vector<Value> FileModel::allowed_settled(int64_t offset) const {
  std::vector<Value> values;
  for (const uint32_t one : set_at(offset)) {
    values.push_back({one >> 8, static_cast<uint8_t>(one)});
  }
  return values;
}

std::optional<Mismatch> FileModel::check_settled(int64_t offset, int64_t length,
                                                 const std::byte* data) const {
  for (int64_t i = 0; i < length; ++i) {
    const int64_t at = offset + i;
    const auto found = static_cast<uint8_t>(data[i]);
    const uint32_t cell = at < settled_size() ? cells_[static_cast<std::size_t>(at)] : 0;
    if (static_cast<uint8_t>(cell) == found) continue;
    std::vector<Value> allowed = allowed_settled(at);
    if (std::any_of(allowed.begin(), allowed.end(),
                    [&](const Value& value) { return value.value == found; })) {
      continue;
    }
    return Mismatch{at, i, found, std::move(allowed)};
  }
  return std::nullopt;
}

std::optional<Mismatch> FileModel::check_segment(
    const Transfer& read, int64_t offset, int64_t length, const std::byte* data,
    const std::vector<std::pair<const Transfer*, int64_t>>& covering) const {
  // `covering`: the unsettled writes of all bytes here, with the position of their data at
  // `offset`.
  std::vector<std::pair<const Transfer*, int64_t>> visible;
  bool settled_visible = true;
  for (const auto& candidate : covering) {
    const Transfer& write = *candidate.first;
    if (read.happens_before(write)) continue;
    if (write.hides() && write.happens_before(read)) settled_visible = false;
    const bool hidden = std::any_of(covering.begin(), covering.end(), [&](const auto& other) {
      return other.first->hides() && write.happens_before(*other.first) &&
             other.first->happens_before(read);
    });
    if (!hidden) visible.push_back(candidate);
  }
  if (visible.empty()) return check_settled(offset, length, data);
  std::vector<std::vector<std::byte>> streams;
  for (const auto& candidate : visible) {
    streams.emplace_back(static_cast<std::size_t>(length));
    fill_values(candidate.first->id, candidate.second, length, streams.back().data());
  }
  for (int64_t i = 0; i < length; ++i) {
    const auto index = static_cast<std::size_t>(i);
    bool legal = false;
    for (const auto& stream : streams) legal = legal || stream[index] == data[i];
    if (legal || (settled_visible && !check_settled(offset + i, 1, data + i))) continue;
    Mismatch mismatch{offset + i, i, static_cast<uint8_t>(data[i]), {}};
    if (settled_visible) mismatch.allowed = allowed_settled(offset + i);
    for (std::size_t k = 0; k < streams.size(); ++k) {
      mismatch.allowed.push_back({visible[k].first->id, static_cast<uint8_t>(streams[k][index])});
    }
    return mismatch;
  }
  return std::nullopt;
}

std::optional<Mismatch> FileModel::check(const Transfer& read, const std::byte* data,
                                         int64_t bytes) const {
  std::vector<const Transfer*> candidates;
  for (const TransferRef& write : writes_) {
    if (write->low < read.high && read.low < write->high) candidates.push_back(write.get());
  }
  struct Cover {
    int64_t begin, end, position;
    const Transfer* write;
  };
  std::vector<Cover> covers;
  std::vector<int64_t> cuts;
  std::vector<std::pair<const Transfer*, int64_t>> covering;
  for (const Piece& piece : read.pieces) {
    const int64_t length = std::min(piece.length, bytes - piece.position);
    if (length <= 0) break;
    const int64_t begin = piece.offset, end = piece.offset + length;
    covers.clear();
    cuts = {begin, end};
    for (const Transfer* write : candidates) {
      auto at = std::upper_bound(
          write->pieces.begin(), write->pieces.end(), begin,
          [](int64_t offset, const Piece& p) { return offset < p.offset + p.length; });
      for (; at != write->pieces.end() && at->offset < end; ++at) {
        const int64_t from = std::max(begin, at->offset);
        const int64_t to = std::min(end, at->offset + at->length);
        covers.push_back({from, to, at->position + from - at->offset, write});
        cuts.insert(cuts.end(), {from, to});
      }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      covering.clear();
      for (const Cover& cover : covers) {
        if (cover.begin <= cuts[i] && cuts[i + 1] <= cover.end) {
          covering.emplace_back(cover.write, cover.position + cuts[i] - cover.begin);
        }
      }
      const std::byte* from = data + piece.position + (cuts[i] - begin);
      auto mismatch = check_segment(read, cuts[i], cuts[i + 1] - cuts[i], from, covering);
      if (mismatch) {
        mismatch->position += piece.position + cuts[i] - begin;
        return mismatch;
      }
    }
  }
  return std::nullopt;
}

}  // namespace random_io
