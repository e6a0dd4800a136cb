// Signatures as text, in Yin's notation. docs/signatures.md has the grammar and examples.
#pragma once

#include <string>
#include <string_view>

#include "pattern/classify.h"
#include "pattern/signature.h"

namespace forebay::pattern {

// Yin III.B.2: {operation, file, initial position, dimension, ({offset pattern}, {request size
// pattern}, {repetition}, {temporal pattern}), [...], repetitions, 1}, of one part.
std::string trace_signature(const Signature& signature, const Part& part, std::string_view file,
                            Operations operations);

// The same of all parts, a line each.
std::string trace_signature(const Signature& signature, std::string_view file,
                            Operations operations);

// Yin III.B.2: {operation, <spatial, dimension>, <repetition>, <request size>, <temporal>}.
std::string pattern_signature(const Classes& classes);
// The same of several patterns, with at most so many repetitions: <repeated 20 to 70>.
std::string pattern_signature(const Classes& classes, uint64_t most_repetitions);

}  // namespace forebay::pattern
