// Trace files as a hostile writer would make them: valid files, changed by a script of bytes, with
// correct checksums. For the fuzzer, which invents scripts, and for a test with random scripts.
#pragma once

#include <string>

#include "trace/bytes.h"

namespace forebay::trace {

// A script: eight bytes that choose the valid file, then four bytes per change: two for the place,
// one for the kind, one for the value.
Bytes scripted_trace(ByteView script);

// Reads everything. Returns the reader's promise that was broken, or "". Adds the number of
// accesses read.
std::string broken_promise(const Bytes& file, std::size_t& accesses);

}  // namespace forebay::trace
