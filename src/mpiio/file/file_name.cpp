#include "mpiio/file/file_name.h"

#include <algorithm>
#include <string_view>

namespace forebay::mpiio {
namespace {

// ROMIO's prefixes of file systems that are mounted: their files have a path.
constexpr std::string_view mounted[] = {"ufs",   "nfs",    "xfs", "lustre", "gpfs",
                                        "panfs", "beegfs", "pfs", "piofs"};

}  // namespace

std::string posix_path(const std::string& name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return name;
  const std::string_view prefix = std::string_view(name).substr(0, colon);
  const bool known = std::find(std::begin(mounted), std::end(mounted), prefix) != std::end(mounted);
  return known ? name.substr(colon + 1) : name;
}

}  // namespace forebay::mpiio
