// An access to a list of extents whose bytes lie in order in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "extent/extent.h"
#include "runtime/cache/cached_file.h"

namespace forebay::runtime {

// A view whose data bytes are those of the extents, which ascend and do not touch. No layout: there
// is no such view.
Tiling view_of(std::span<const Extent> extents);

// `extents` ascend and do not touch; `bytes`: their sum. *moved: the bytes before the end of file.
Status access_extents(CachedFile& file, bool writes, bool collective,
                      std::span<const Extent> extents, std::byte* memory, int64_t bytes,
                      int64_t* moved);

}  // namespace forebay::runtime
