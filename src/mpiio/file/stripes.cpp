#include "mpiio/file/stripes.h"

#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "extent/text.h"
#include "storage/file_system.h"

namespace forebay::mpiio {
namespace {

// A hint that is a positive number; 0: it is not.
int64_t number_in(MPI_Info info, const char* key) {
  std::array<char, MPI_MAX_INFO_VAL + 1> text{};
  int found = 0;
  if (mpi().Info_get(info, key, MPI_MAX_INFO_VAL, text.data(), &found) != MPI_SUCCESS || !found)
    return 0;
  return std::max<int64_t>(leading_number<int64_t>(text.data()).value_or(0), 0);
}

}  // namespace

Stripes stripes_of(const runtime::CachedFile& cached, MPI_File file) {
  const std::string& path = cached.path();
  std::array<std::byte, 16 << 10> layout;  // of some hundred servers; more do not matter
  const bool on_lustre = file_system_type(path, cached.identity().device) == lustre_type;
  const ssize_t length =
      on_lustre ? getxattr(path.c_str(), "lustre.lov", layout.data(), layout.size()) : 0;
  const auto known = static_cast<std::size_t>(std::max<ssize_t>(length, 0));
  const Stripes told = stripes_in_layout(std::span(layout).first(known));
  if (told.bytes > 0) return told;
  MPI_Info info;
  if (mpi().File_get_info(file, &info) != MPI_SUCCESS) return {};
  const Stripes stripes{number_in(info, "striping_unit"), number_in(info, "striping_factor")};
  mpi().Info_free(&info);
  return stripes;
}

}  // namespace forebay::mpiio
