// Trace files as a hostile writer would make them: sound ones, changed as a script of bytes says,
// with checksums that are right. For the fuzzer, which invents scripts, and for a test with random
// ones.
#pragma once

#include <string>

#include "trace/bytes.h"

namespace forebay::trace {

// A script: eight bytes that choose the sound file, then four bytes a change: two that say where,
// what, and a value.
Bytes scripted_trace(ByteView script);

// Reads all of it; what of the reader's promises was broken, or "". Counts the accesses read.
std::string broken_promise(const Bytes& file, std::size_t& accesses);

}  // namespace forebay::trace
