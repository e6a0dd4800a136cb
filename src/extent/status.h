// One status value from end to end: a code, the system's errno where there is one, and where it
// happened. Values, never exceptions; nothing in the core prints or aborts.
#pragma once

#include <cerrno>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>

namespace forebay {

enum class Code : uint8_t {
  ok,
  io,         // storage failed (EIO and whatever has no class of its own)
  no_space,   // ENOSPC, EFBIG
  quota,      // EDQUOT
  no_memory,  // memory, shared memory or descriptors refused
  access,     // permission refused
  no_such_file,
  bad_argument,
  unsupported,
};

struct [[nodiscard]] Status {
  Code code = Code::ok;
  int system_error = 0;  // errno, 0 where none
  int64_t offset = -1;   // file offset that failed, -1 where none

  bool ok() const { return code == Code::ok; }
  static Status success() { return {}; }
  static Status from_errno(int error, int64_t offset = -1);
};

// What `act` returns (success if nothing); memory refused within it (std::bad_alloc) is a failure
// like any other.
template <typename Act>
Status within_memory(Act act) {
  try {
    if constexpr (std::is_void_v<decltype(act())>) {
      act();
      return {};
    } else {
      return act();
    }
  } catch (const std::bad_alloc&) {
    return {Code::no_memory, ENOMEM, -1};
  }
}

// The sentence for a code, without file or offset ("no space left on the storage").
const char* describe(Code code);

// What went wrong, in the system's words where it has some; "" for success.
std::string cause(const Status& status);

}  // namespace forebay
