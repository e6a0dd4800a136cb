// Accesses that follow no pattern, a few bytes each: a flag byte, where the access begins from the
// end of the one before (signed varint), and size and operation where they differ from those of the
// one before. Every run begins anew, from Access{}.
#pragma once

#include "pattern/pattern.h"
#include "trace/bytes.h"

namespace forebay::pattern {

// No run is longer, so that looking for one access in it stays cheap.
inline constexpr uint64_t longest_raw_run = 256;

void append_raw(trace::Bytes& raw, const Access& previous, const Access& access);

// Reads the access at `next`, moves it on; `access` is the previous one before.
void read_raw(const trace::Bytes& raw, std::size_t& next, Access& access);

}  // namespace forebay::pattern
