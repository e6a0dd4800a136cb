// How a file system divides a file among its servers, and how Lustre tells it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

struct Stripes {
  int64_t bytes = 0;    // of a stripe; 0: not known
  int64_t servers = 0;  // that have stripes; 0: not known
};

// What a file's attribute "lustre.lov" tells, as Lustre's clients hand it out (struct lov_user_md
// of versions 1 and 3, lustre_user.h). Not known: a layout of another kind (composite, mirrored, or
// over all servers), or none.
Stripes stripes_in_layout(std::span<const std::byte> layout);

}  // namespace forebay
