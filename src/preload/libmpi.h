// Recognises the program's MPI library among the loaded objects, and gives the ABI of the
// interposer for it.
#pragma once

#include <string_view>

#include "preload/object.h"

namespace forebay::preload {

// "mpich", "mpiabi" or "openmpi"; empty if `object` is no MPI library that an interposer serves. If
// `forced` (FOREBAY_MPI) is one of the three, it replaces the detected ABI.
std::string_view mpi_abi(const Object& object, std::string_view forced);

// Whether `object` is part of an MPI library. Its calls of MPI routines are not rebound.
bool is_mpi_plugin(const Object& object);

}  // namespace forebay::preload
