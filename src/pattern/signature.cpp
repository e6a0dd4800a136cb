#include "pattern/signature.h"

#include <algorithm>

#include "pattern/raw_run.h"

namespace forebay::pattern {

std::size_t Signature::memory_bytes() const {
  std::size_t bytes = parts.size() * sizeof(Part) + raw.size();
  for (const Pattern& pattern : patterns) bytes += pattern.memory_bytes();
  return bytes;
}

Cursor::Cursor(const Signature& signature, uint64_t index) : signature_(&signature) {
  const auto after =
      std::upper_bound(signature.parts.begin(), signature.parts.end(), index,
                       [](uint64_t number, const Part& part) { return number < part.first; });
  if (after == signature.parts.begin()) return;
  part_ = static_cast<std::size_t>(after - signature.parts.begin()) - 1;
  index_ = index;
  end_ = signature.parts[part_].first + signature.parts[part_].accesses;
  if (index < end_) enter(index - signature.parts[part_].first);
}

// Goes to access `within` of the current part.
void Cursor::enter(uint64_t within) {
  const Part& part = signature_->parts[part_];
  index_ = part.first + within;
  end_ = part.first + part.accesses;
  switch (part.kind) {
    case Part::Kind::pattern:
      position_ = part.position;
      walk_ = Walk(signature_->patterns[part.pattern]);
      if (within > 0) walk_.seek(within);
      break;
    case Part::Kind::raw:
      raw_next_ = part.raw_begin;
      previous_ = {};
      for (uint64_t i = 0; i < within; ++i) read_raw(signature_->raw, raw_next_, previous_);
      break;
    case Part::Kind::lost:
      index_ = end_;
      break;
  }
}

bool Cursor::next(Access& access) {
  while (index_ == end_) {
    if (end_ == 0) {  // at the first call
      if (signature_->parts.empty()) return false;
    } else if (++part_ >= signature_->parts.size()) {
      part_ = signature_->parts.size();
      return false;
    }
    enter(0);
  }
  if (index_ > end_) return false;
  if (signature_->parts[part_].kind == Part::Kind::pattern) {
    access = walk_.access();
    access.offset = plus(access.offset, position_);
    walk_.advance();
  } else {
    read_raw(signature_->raw, raw_next_, previous_);
    access = previous_;
  }
  ++index_;
  return true;
}

AccessColumns expand(const Signature& signature, uint64_t first, uint64_t most) {
  AccessColumns columns;
  Cursor cursor(signature, first);
  Access access;
  for (uint64_t i = 0; i < most && cursor.next(access); ++i) {
    columns.operation.push_back(access.operation);
    columns.offset.push_back(access.offset);
    columns.size.push_back(access.size);
  }
  return columns;
}

}  // namespace forebay::pattern
