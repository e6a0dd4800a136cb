// Recognises the program's MPI library among the loaded objects, and names the interposer that was
// built for its ABI.
#pragma once

#include <string_view>

#include "preload/object.h"

namespace forebay::preload {

// "mpich", "mpiabi" or "openmpi"; empty when `object` is no MPI library that an interposer fits.
// `forced` (FOREBAY_MPI), if it is one of the three, replaces the judgement of the ABI.
std::string_view mpi_abi(const Object& object, std::string_view forced);

// Part of an MPI library: what it imports from MPI is its own business and is left alone.
bool is_mpi_plugin(const Object& object);

}  // namespace forebay::preload
