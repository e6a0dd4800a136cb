// Signatures as text, in Yin's notation. docs/signatures.md has the grammar and examples.
#pragma once

#include <string>
#include <string_view>

#include "pattern/classify.h"
#include "pattern/signature.h"

namespace forebay::pattern {

// One part of a signature (Yin III.B.2): {operation, file, initial position, dimension, ({offset
// pattern}, {request size pattern}, {repetition}, {temporal pattern}), [...], repetitions, 1}.
std::string trace_signature(const Signature& signature, const Part& part, std::string_view file,
                            Operations operations);

// All parts of a signature, one line each.
std::string trace_signature(const Signature& signature, std::string_view file,
                            Operations operations);

// Yin III.B.2: {operation, <spatial, dimension>, <repetition>, <request size>, <temporal>}.
std::string pattern_signature(const Classes& classes);
// The same for several patterns, of which the largest repeats most_repetitions times: <repeated 20
// to 70>.
std::string pattern_signature(const Classes& classes, uint64_t most_repetitions);

}  // namespace forebay::pattern
