// Recognises MPI libraries by the symbols they define and by their soname. Tools such as Darshan
// define MPI routines, too, but are not named libmpi.
#include "preload/libmpi.h"

namespace forebay::preload {
namespace {

constexpr std::string_view abis[] = {"mpich", "mpiabi", "openmpi"};

}  // namespace

std::string_view mpi_abi(const Object& object, std::string_view forced) {
  if (!object.soname.starts_with("libmpi")) return {};
  if (defined_symbol(object, "PMPI_Init") == 0 || defined_symbol(object, "PMPI_File_open") == 0)
    return {};
  for (const std::string_view abi : abis) {
    if (abi == forced) return abi;
  }
  if (defined_symbol(object, "ompi_mpi_comm_world") != 0) return "openmpi";
  if (object.soname.starts_with("libmpi_abi.so")) return "mpiabi";
  // The MPICH ABI initiative: libmpi.so.12 of MPICH, Intel MPI and MVAPICH, libmpich.so.12 of
  // Debian, libmpi_gnu_123.so.12 and the like of Cray.
  if (object.soname.ends_with(".so.12")) return "mpich";
  return {};
}

bool is_mpi_plugin(const Object& object) {
  const std::string_view name = object.file_name();
  return name.starts_with("mca_") || name.starts_with("libmca_");
}

}  // namespace forebay::preload
