// Block traces from anywhere: what a reader promises for any bytes. For the fuzzer, and for a test
// with random changes of valid files.
#pragma once

#include <string>
#include <string_view>

namespace forebay::sim {

// Valid files, small.
std::string sound_text();
std::string sound_oracle_general();

// Reads the bytes as each format, in one piece and in pieces of `piece` bytes. Returns the reader's
// promise that was broken, or "".
std::string broken_block_promise(std::string_view bytes, std::size_t piece);

}  // namespace forebay::sim
