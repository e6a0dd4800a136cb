#include "mpiio/file/stripes.h"

#include <array>
#include <charconv>
#include <cstring>

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

}  // namespace

Stripes stripes_of(MPI_File file) {
  MPI_Info info;
  if (mpi().File_get_info(file, &info) != MPI_SUCCESS) return {};
  const Stripes stripes{number_in(info, "striping_unit"), number_in(info, "striping_factor")};
  mpi().Info_free(&info);
  return stripes;
}

}  // namespace forebay::mpiio
