// libFuzzer's target for block traces: reads the bytes in pieces, whose size is the first byte.
#include <cstdio>
#include <cstdlib>

#include "fuzz/scripted_blocks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t piece = size > 0 ? 1 + data[0] : 1;
  if (const std::string broken = forebay::sim::broken_block_promise(bytes, piece);
      !broken.empty()) {
    std::fprintf(stderr, "%s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
