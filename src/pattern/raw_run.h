// Accesses that follow no pattern, in a few bytes each: a flag byte; the distance from the end of
// the access before (signed varint); size and operation if they differ from those of the access
// before. In each run the first access is coded as if it followed Access{}.
#pragma once

#include "pattern/pattern.h"
#include "trace/bytes.h"

namespace forebay::pattern {

// The longest run, in accesses. The limit keeps the search for one access cheap.
inline constexpr uint64_t longest_raw_run = 256;

void append_raw(trace::Bytes& raw, const Access& previous, const Access& access);

// Reads the access at `next` and advances `next`. `access` holds the access before, and then the
// one read.
void read_raw(const trace::Bytes& raw, std::size_t& next, Access& access);

}  // namespace forebay::pattern
