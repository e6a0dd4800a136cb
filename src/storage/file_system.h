// File systems, by what they show one node of what another has written.
#pragma once

#include <cstdint>
#include <string>

namespace forebay {

enum class FileSystem {
  unknown,
  local,          // belongs to this node alone
  coherent,       // shows it at once
  close_to_open,  // shows at an open what was written before a close
  fuse,           // may be any of these
};

inline constexpr unsigned long lustre_type = 0x0bd00bd0;  // not in every header

// `type`: as statfs() tells it.
FileSystem file_system_of(unsigned long type);

// The type of the file system of an open file, or of a path and the device that it is on; 0: it
// does not tell. On a network the question may cost a message, so each device is asked once.
unsigned long file_system_type(int descriptor);
unsigned long file_system_type(const std::string& path, uint64_t device);

}  // namespace forebay
