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
  if (extents.size() == 1) {
    const Extent only = extents.front();
    const CachedFile::PartTurn turn(file, {writes, collective, nullptr, only.offset, only.length});
    if (!writes) return file.read(only.offset, memory, only.length, moved);
    *moved = only.length;
    return file.write(only.offset, memory, only.length);
  }
  const Tiling view = view_of(extents);
  if (view.layout == nullptr) return {Code::bad_argument, EINVAL, -1};
  const Access access{writes, collective, &view, 0, bytes};
  const CachedFile::PartTurn turn(file, access);
  return file.access(access, memory, moved);
}

}  // namespace forebay::runtime
