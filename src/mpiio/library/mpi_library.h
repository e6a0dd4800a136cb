// The program's MPI library, called through pointers: an interposer has no undefined MPI symbol, so
// loading it neither loads a second MPI library nor fails without one. The pointers are to the
// PMPI_ names, so that calls enter neither Forebay nor other tools again.
//
// One source is built once for every MPI ABI (MPICH, the MPI-5 standard ABI, Open MPI); what
// differs between their headers is settled here.
#pragma once

#if defined(FOREBAY_ABI_MPIABI)
#include <mpi_abi.h>
#else
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#endif

#include <cstdint>

#include "mpiio/library/routines.h"

// clang-format off

// Routines that Forebay calls and does not answer; every MPI since 3.0 has them.
#define FOREBAY_CALLED_ROUTINES(X) \
  X(Initialized) X(Finalized) X(Query_thread) X(Add_error_code) X(Add_error_string) \
  X(Error_class) X(Comm_compare) X(Comm_create_keyval) X(Comm_free) X(Comm_get_attr) \
  X(Comm_group) X(Comm_set_attr) X(Comm_rank) X(Comm_set_errhandler) X(Comm_size) \
  X(Comm_test_inter) X(Errhandler_free) X(Get_elements_x) X(Grequest_complete) X(Grequest_start) \
  X(Group_difference) X(Group_free) X(Group_size) X(Group_translate_ranks) X(Info_create) \
  X(Info_delete) X(Info_dup) X(Info_free) X(Info_get) X(Info_get_nkeys) X(Info_get_nthkey) \
  X(Info_set) X(Iprobe) X(Irecv) X(Isend) X(Pack) X(Recv) X(Send) X(Sendrecv) \
  X(Status_set_cancelled) X(Status_set_elements_x) X(Type_create_keyval) X(Type_get_attr) \
  X(Type_set_attr) X(Type_commit) X(Type_create_hindexed) X(Type_dup) X(Type_free) \
  X(Type_get_contents) X(Type_get_envelope) \
  X(Type_get_extent_x) X(Type_get_true_extent_x) X(Type_size_x)
#if defined(FOREBAY_LARGE_COUNT)
#define FOREBAY_CALLED_ROUTINES_C(X) X(Type_get_contents_c) X(Type_get_envelope_c)
#else
#define FOREBAY_CALLED_ROUTINES_C(X)
#endif

// Predefined handles: type, Forebay's name, the standard's name, Open MPI's data symbol.
#define FOREBAY_MPI_HANDLES(X)                                                \
  X(MPI_Comm, comm_null, MPI_COMM_NULL, ompi_mpi_comm_null)                   \
  X(MPI_Comm, comm_world, MPI_COMM_WORLD, ompi_mpi_comm_world)                \
  X(MPI_Comm, comm_self, MPI_COMM_SELF, ompi_mpi_comm_self)                   \
  X(MPI_Datatype, datatype_null, MPI_DATATYPE_NULL, ompi_mpi_datatype_null)   \
  X(MPI_Datatype, byte, MPI_BYTE, ompi_mpi_byte)                              \
  X(MPI_Datatype, integer, MPI_INT, ompi_mpi_int)                             \
  X(MPI_Datatype, int64, MPI_INT64_T, ompi_mpi_int64_t)                       \
  X(MPI_Datatype, float_int, MPI_FLOAT_INT, ompi_mpi_float_int)               \
  X(MPI_Datatype, double_int, MPI_DOUBLE_INT, ompi_mpi_double_int)            \
  X(MPI_Datatype, long_int, MPI_LONG_INT, ompi_mpi_long_int)                  \
  X(MPI_Datatype, short_int, MPI_SHORT_INT, ompi_mpi_short_int)               \
  X(MPI_Datatype, two_int, MPI_2INT, ompi_mpi_2int)                           \
  X(MPI_Datatype, long_double_int, MPI_LONG_DOUBLE_INT, ompi_mpi_longdbl_int) \
  X(MPI_Errhandler, errors_return, MPI_ERRORS_RETURN, ompi_mpi_errors_return) \
  X(MPI_Errhandler, errors_are_fatal, MPI_ERRORS_ARE_FATAL, ompi_mpi_errors_are_fatal) \
  X(MPI_Errhandler, errors_abort, MPI_ERRORS_ABORT, ompi_mpi_errors_abort) \
  X(MPI_File, file_null, MPI_FILE_NULL, ompi_mpi_file_null)                   \
  X(MPI_Info, info_null, MPI_INFO_NULL, ompi_mpi_info_null)                   \
  X(MPI_Op, max, MPI_MAX, ompi_mpi_op_max)                                    \
  X(MPI_Op, min, MPI_MIN, ompi_mpi_op_min)                                    \
  X(MPI_Request, request_null, MPI_REQUEST_NULL, ompi_request_null)

// clang-format on

namespace forebay::mpiio {

// The library's functions, null if it lacks them, and its handles.
struct MpiLibrary {
#define FOREBAY_ROUTINE(name) decltype(&PMPI_##name) name = nullptr;
  FOREBAY_ROUTINES
  FOREBAY_ROUTINES_IF_TRACED
  FOREBAY_CALLED_ROUTINES(FOREBAY_ROUTINE)
  FOREBAY_CALLED_ROUTINES_C(FOREBAY_ROUTINE)
#undef FOREBAY_ROUTINE
#define FOREBAY_HANDLE(type, name, constant, symbol) type name{};
  FOREBAY_MPI_HANDLES(FOREBAY_HANDLE)
#undef FOREBAY_HANDLE
};

namespace internal {
extern MpiLibrary library;
}

// The library this process runs on. Filled before the first entry point can be called: by
// forebay_attach (preloaded) or when the interposer is loaded (linked).
inline const MpiLibrary& mpi() { return internal::library; }

// Connects to the MPI library at `path` or, if null, to the one of this build's ABI among the
// loaded objects. False: there is none. May be called again.
bool attach_library(const char* path);

// The name of the ABI this interposer was built for: "mpich", "mpiabi" or "openmpi".
const char* abi_name();

}  // namespace forebay::mpiio
