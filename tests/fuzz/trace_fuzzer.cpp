// libFuzzer's target for trace files: the bytes unchanged, or as a script of changes to a valid
// file.
#include <cstdio>
#include <cstdlib>

#include "fuzz/scripted_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace forebay::trace;
  const auto input = std::as_bytes(std::span(data, size));
  const bool as_it_is = size > 0 && data[0] == 'F';
  const Bytes file = as_it_is ? Bytes(input.begin(), input.end()) : scripted_trace(input);
  std::size_t accesses = 0;
  if (const std::string broken = broken_promise(file, accesses); !broken.empty()) {
    std::fprintf(stderr, "%s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
