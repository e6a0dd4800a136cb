#include "trace/activity.h"

#include <algorithm>

#include "trace/routine.h"
#include "trace/table.h"

namespace forebay::trace {

void Activity::Cell::add(const Cell& other) {
  begun += other.begun;
  ended += other.ended;
  bytes += other.bytes;
  first_ns = std::min(first_ns, other.first_ns);
  last_ns = std::max(last_ns, other.last_ns);
}

void Activity::add(int32_t file, bool writes, int64_t start_ns, int64_t end_ns, int64_t bytes) {
  end_ns = std::max(start_ns, end_ns);
  const auto moved = static_cast<uint64_t>(std::max<int64_t>(bytes, 0));
  if (latest_ != nullptr && start_ns >= latest_begin_ns_ && end_ns <= latest_last_ns_ &&
      latest_key_ == Key{file, writes}) {
    latest_->add({1, 1, moved, start_ns, end_ns});
    first_ns_ = std::min(first_ns_, start_ns);
    last_ns_ = std::max(last_ns_, end_ns);
    return;
  }
  make_room(start_ns, end_ns);
  Cell& first = cell({file, writes}, start_ns >> shift_);
  ++first.begun;
  first.bytes += moved;
  first.first_ns = std::min(first.first_ns, start_ns);
  Cell& last = cell({file, writes}, end_ns >> shift_);
  ++last.ended;
  last.last_ns = std::max(last.last_ns, end_ns);
}

void Activity::add(const ActivityColumns& columns) {
  for (std::size_t i = 0; i < columns.file.size(); ++i) {
    const auto what = static_cast<Operation>(columns.operation[i]);
    if (what != Operation::read && what != Operation::write) continue;
    if (columns.file[i] < 0) continue;
    if (columns.transferred[i] <= 0) {
      ++left_out_.empty;
    } else if (columns.folded[i] != 0 || columns.start_ns[i] == no_time ||
               columns.end_ns[i] == no_time) {
      ++left_out_.untimed;
    } else {
      add(columns.file[i], what == Operation::write, columns.start_ns[i], columns.end_ns[i],
          columns.transferred[i]);
    }
  }
}

Activity::Cell& Activity::cell(Key key, int64_t step) {
  if (latest_ == nullptr || step != latest_step_ || key != latest_key_) {
    latest_ = &cells_[key][step];
    latest_key_ = key;
    latest_step_ = step;
    latest_begin_ns_ = step << shift_;
    latest_last_ns_ = latest_begin_ns_ + ((int64_t{1} << shift_) - 1);
  }
  return *latest_;
}

void Activity::make_room(int64_t first_ns, int64_t last_ns) {
  first_ns_ = std::min(first_ns_, first_ns);
  last_ns_ = std::max(last_ns_, last_ns);
  if (first_ns_ > last_ns_) return;
  // Halves before it subtracts: the difference of two times may need more than 64 bits.
  while ((last_ns_ >> (shift_ + 1)) - (first_ns_ >> (shift_ + 1)) >= most_steps / 2) double_steps();
}

void Activity::double_steps() {
  ++shift_;
  latest_ = nullptr;
  for (auto& [key, cells] : cells_) {
    Cells halved;
    for (const auto& [step, of_step] : cells) halved[step >> 1].add(of_step);
    cells = std::move(halved);
  }
}

void Activity::merge(const Activity& other) {
  left_out_.empty += other.left_out_.empty;
  left_out_.untimed += other.left_out_.untimed;
  make_room(other.first_ns_, other.last_ns_);
  while (shift_ < other.shift_) double_steps();
  for (const auto& [key, cells] : other.cells_) {
    for (const auto& [step, of_step] : cells)
      cell(key, step >> (shift_ - other.shift_)).add(of_step);
  }
}

void Activity::write(ByteWriter& writer) const {
  writer.varint(left_out_.empty);
  writer.varint(left_out_.untimed);
  writer.varint(static_cast<uint64_t>(shift_));
  writer.signed_varint(first_ns_);
  writer.signed_varint(last_ns_);
  writer.varint(cells_.size());
  for (const auto& [key, cells] : cells_) {
    writer.signed_varint(key.file);
    writer.u8(key.writes ? 1 : 0);
    writer.varint(cells.size());
    for (const auto& [step, one] : cells) {
      writer.signed_varint(step);
      for (const uint64_t count : {one.begun, one.ended, one.bytes}) writer.varint(count);
      writer.signed_varint(one.first_ns);
      writer.signed_varint(one.last_ns);
    }
  }
}

bool Activity::read(ByteReader& reader) {
  left_out_.empty = reader.varint();
  left_out_.untimed = reader.varint();
  shift_ = static_cast<int>(reader.varint());
  first_ns_ = reader.signed_varint();
  last_ns_ = reader.signed_varint();
  for (uint64_t keys = reader.varint(); keys > 0 && reader.ok(); --keys) {
    const auto file = static_cast<int32_t>(reader.signed_varint());
    const bool writes = reader.u8() != 0;
    Cells& cells = cells_[{file, writes}];
    for (uint64_t count = reader.varint(); count > 0 && reader.ok(); --count) {
      Cell& one = cells[reader.signed_varint()];
      for (uint64_t* number : {&one.begun, &one.ended, &one.bytes}) *number = reader.varint();
      one.first_ns = reader.signed_varint();
      one.last_ns = reader.signed_varint();
    }
  }
  return reader.ok() && reader.at_end() && shift_ < 64;
}

std::vector<Stretch> Activity::stretches(int64_t pause_ns) const {
  std::vector<Stretch> found;
  const int64_t pause_steps = std::max<int64_t>(1, pause_ns >> shift_);
  for (const auto& [key, cells] : cells_) {
    uint64_t going_on = 0;
    int64_t idle_since = 0;  // one past the last step with an access
    Stretch* stretch = nullptr;
    for (const auto& [step, one] : cells) {
      if (stretch == nullptr || (going_on == 0 && step - idle_since >= pause_steps)) {
        stretch = &found.emplace_back();
        *stretch = {key.file, key.writes, one.first_ns, one.last_ns, 0, 0};
      }
      stretch->end_ns = std::max(stretch->end_ns, one.last_ns);
      stretch->accesses += one.begun;
      stretch->bytes += one.bytes;
      going_on += one.begun - one.ended;
      idle_since = step + 1;
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Stretch& a, const Stretch& b) { return a.start_ns < b.start_ns; });
  return found;
}

}  // namespace forebay::trace
