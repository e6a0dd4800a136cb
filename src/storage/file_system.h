// File systems, by what they show one node of what another has written.
#pragma once

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

}  // namespace forebay
