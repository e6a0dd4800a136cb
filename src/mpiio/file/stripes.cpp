#include "mpiio/file/stripes.h"

#include <sys/xattr.h>

#include <array>
#include <charconv>
#include <cstring>

#include "mpiio/file/file_system.h"

namespace forebay::mpiio {
namespace {

// A hint that is a positive number; 0: it is not.
int64_t number_in(MPI_Info info, const char* key) {
  std::array<char, MPI_MAX_INFO_VAL + 1> text{};
  int found = 0;
  if (mpi().Info_get(info, key, MPI_MAX_INFO_VAL, text.data(), &found) != MPI_SUCCESS || !found)
    return 0;
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + std::strlen(text.data()), number);
  return number > 0 ? number : 0;
}

template <typename Number>
int64_t number_at(std::span<const std::byte> bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

}  // namespace

Stripes stripes_in_layout(std::span<const std::byte> layout) {
  // Magic number, pattern, the object's two numbers of 64 bits, bytes of a stripe, and with 16 bits
  // the stripes in a row.
  constexpr std::size_t bytes_at = 24, count_at = 28, end = 32;
  constexpr int64_t magic_1 = 0x0bd10bd0, magic_3 = 0x0bd30bd0;
  constexpr int64_t raid0 = 1;
  constexpr int64_t all_servers = 0xffff;
  if (layout.size() < end) return {};
  const auto magic = number_at<uint32_t>(layout, 0);
  if ((magic != magic_1 && magic != magic_3) || number_at<uint32_t>(layout, 4) != raid0) return {};
  const Stripes stripes{number_at<uint32_t>(layout, bytes_at),
                        number_at<uint16_t>(layout, count_at)};
  const bool known = stripes.bytes > 0 && stripes.servers > 0 && stripes.servers != all_servers;
  return known ? stripes : Stripes();
}

Stripes stripes_of(MPI_File file, const std::string& path) {
  std::array<std::byte, 16 << 10> layout;  // of some hundred servers; more do not matter
  const ssize_t length =
      is_on_lustre(path) ? getxattr(path.c_str(), "lustre.lov", layout.data(), layout.size()) : 0;
  if (length > 0) {
    const Stripes told =
        stripes_in_layout(std::span(layout).first(static_cast<std::size_t>(length)));
    if (told.bytes > 0) return told;
  }
  MPI_Info info;
  if (mpi().File_get_info(file, &info) != MPI_SUCCESS) return {};
  const Stripes stripes{number_in(info, "striping_unit"), number_in(info, "striping_factor")};
  mpi().Info_free(&info);
  return stripes;
}

}  // namespace forebay::mpiio
