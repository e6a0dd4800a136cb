#include "runtime/cache/access_extents.h"

#include <cerrno>
#include <utility>
#include <vector>

#include "engine/access.h"
#include "extent/layout.h"

namespace forebay::runtime {

Tiling view_of(std::span<const Extent> extents) {
  std::vector<int64_t> displacements, lengths;
  displacements.reserve(extents.size());
  lengths.reserve(extents.size());
  for (const Extent& extent : extents) {
    displacements.push_back(extent.offset);
    lengths.push_back(extent.length);
  }
  const int64_t end = extents.back().end();
  return {Layout::indexed(std::move(displacements), std::move(lengths), 1, Layout::block(1)), 0,
          end};
}

Status access_extents(CachedFile& file, bool writes, bool collective,
                      std::span<const Extent> extents, std::byte* memory, int64_t bytes,
                      int64_t* moved) {
  if (extents.size() == 1 && !collective) {
    const Extent only = extents.front();
    const CachedFile::PartTurn turn(file, {writes, false, nullptr, only.offset, only.length});
    if (!writes) return file.read(only.offset, memory, only.length, moved);
    *moved = only.length;
    return file.write(only.offset, memory, only.length);
  }
  Access access{writes, collective, nullptr, extents.front().offset, bytes};
  const Tiling view = extents.size() > 1 ? view_of(extents) : Tiling{};
  if (extents.size() > 1) {
    if (view.layout == nullptr) return {Code::bad_argument, EINVAL, -1};
    access.view = &view;
    access.position = 0;
  }
  const CachedFile::PartTurn turn(file, access);
  return file.access(access, memory, moved);
}

}  // namespace forebay::runtime
