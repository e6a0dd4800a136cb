// The one status value of the whole code: a code, the system's errno if there is one, and the file
// offset that failed. Errors are values; the core never throws, prints or aborts.
#pragma once

#include <cerrno>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>

namespace forebay {

enum class Code : uint8_t {
  ok,
  io,         // storage failed: EIO, and errors without a code of their own
  no_space,   // ENOSPC, EFBIG
  quota,      // EDQUOT
  no_memory,  // memory, shared memory or descriptors refused
  access,     // permission refused
  no_such_file,
  bad_argument,
  unsupported,
  network,    // a message could not be sent
  node_lost,  // the other node of a message is dead
};

struct [[nodiscard]] Status {
  Code code = Code::ok;
  int system_error = 0;  // errno; 0: none
  int64_t offset = -1;   // file offset that failed; -1: none

  bool ok() const { return code == Code::ok; }
  // Becomes the other, unless it is a failure already.
  void keep_first(const Status& other) {
    if (ok()) *this = other;
  }
  static Status success() { return {}; }
  static Status from_errno(int error, int64_t offset = -1);
};

// Returns what `act` returns, or success if it returns nothing. If memory is refused within it
// (std::bad_alloc), returns that as a failure.
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

// What went wrong, in the system's words if there are any; "" for success.
std::string cause(const Status& status);

}  // namespace forebay
