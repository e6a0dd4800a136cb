// Block traces of strangers: what a reader promises of any bytes. For the fuzzer and for a test
// with random changes of sound files.
#pragma once

#include <string>
#include <string_view>

namespace forebay::sim {

// Sound files, small.
std::string sound_text();
std::string sound_oracle_general();

// Reads the bytes as each format, in one piece and in pieces of `piece`; what of the reader's
// promises was broken, or "".
std::string broken_block_promise(std::string_view bytes, std::size_t piece);

}  // namespace forebay::sim
