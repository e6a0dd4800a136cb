// The MPI library of the program, called through pointers: an interposer has no undefined MPI
// symbol, so loading it can neither pull a second MPI into the process nor fail for want of one.
// Always the PMPI_ names, so that tools above and Forebay itself are not entered again.
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

// clang-format off

// Routines that every MPI since 3.0 has.
#define FOREBAY_MPI_FUNCTIONS(X) \
  X(Init) X(Init_thread) X(Finalize) X(Abort) X(Initialized) X(Finalized) X(Query_thread) \
  X(Add_error_class) X(Add_error_code) X(Add_error_string) X(Error_class) X(Error_string) \
  X(Allreduce) X(Barrier) X(Bcast) X(Gather) X(Iallgather) X(Test) X(Testall) X(Testany) \
  X(Testsome) X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Request_free) X(Request_get_status) \
  X(Comm_compare) \
  X(Comm_create_keyval) X(Comm_free) X(Comm_get_attr) X(Comm_group) X(Comm_set_attr) \
  X(Comm_rank) X(Comm_remote_size) X(Comm_set_errhandler) X(Comm_size) X(Comm_split_type) \
  X(Comm_test_inter) X(File_call_errhandler) X(File_close) X(File_create_errhandler) \
  X(File_delete) X(File_get_amode) X(File_get_atomicity) X(File_get_byte_offset) \
  X(File_get_errhandler) X(File_get_group) X(File_get_info) X(File_get_position) \
  X(File_get_position_shared) X(File_get_size) X(File_get_type_extent) X(File_get_view) \
  X(File_open) X(File_preallocate) X(File_seek) X(File_seek_shared) X(File_set_atomicity) \
  X(File_set_errhandler) X(File_set_info) X(File_set_size) X(File_set_view) X(File_sync) \
  X(File_read_at) X(File_write_at) X(File_read_at_all) X(File_write_at_all) X(File_read) \
  X(File_write) X(File_read_all) X(File_write_all) X(File_read_shared) X(File_write_shared) \
  X(File_read_ordered) X(File_write_ordered) X(File_iread_at) X(File_iwrite_at) \
  X(File_iread_at_all) X(File_iwrite_at_all) X(File_iread) X(File_iwrite) X(File_iread_all) \
  X(File_iwrite_all) X(File_iread_shared) X(File_iwrite_shared) X(File_read_at_all_begin) \
  X(File_read_at_all_end) X(File_write_at_all_begin) X(File_write_at_all_end) \
  X(File_read_all_begin) X(File_read_all_end) X(File_write_all_begin) X(File_write_all_end) \
  X(File_read_ordered_begin) X(File_read_ordered_end) X(File_write_ordered_begin) \
  X(File_write_ordered_end) X(Register_datarep) X(Errhandler_free) X(Get_elements_x) \
  X(Get_processor_name) X(Grequest_complete) X(Grequest_start) X(Group_difference) X(Group_free) \
  X(Group_size) \
  X(Info_create) X(Info_delete) X(Info_dup) X(Info_free) X(Info_get) X(Info_get_nkeys) X(Info_get_nthkey) \
  X(Info_get_valuelen) X(Info_set) X(Recv) X(Send) X(Sendrecv) X(Status_set_cancelled) X(Status_set_elements) \
  X(Status_set_elements_x) X(Gatherv) X(Comm_split) X(Pack) X(Type_create_keyval) \
  X(Type_get_attr) X(Type_set_attr) X(Type_commit) X(Type_contiguous) X(Type_create_hindexed) \
  X(Type_create_resized) X(Type_dup) X(Type_free) X(Type_get_contents) X(Type_get_envelope) \
  X(Type_get_extent_x) X(Type_get_name) X(Type_get_true_extent_x) X(Type_size) \
  X(Type_size_x) X(Wtime) \
  X(Allgather) X(Allgatherv) X(Alltoall) X(Alltoallv) X(Alltoallw) X(Reduce) X(Reduce_scatter) \
  X(Reduce_scatter_block) X(Scatter) X(Scatterv) X(Iallgatherv) X(Iallreduce) X(Ialltoall) \
  X(Ialltoallv) X(Ialltoallw) X(Ibarrier) X(Ibcast) X(Igather) X(Igatherv) X(Ireduce) \
  X(Ireduce_scatter) X(Ireduce_scatter_block) X(Iscatter) X(Iscatterv) X(Comm_create) X(Comm_dup) \
  X(Comm_dup_with_info) X(Cart_create) X(Cart_sub) X(Graph_create) X(Dist_graph_create) \
  X(Dist_graph_create_adjacent) X(Group_translate_ranks)

// Routines of MPI 4.0 that Open MPI 5.0 lacks (FOREBAY_LARGE_COUNT: the header declares them).
#if defined(FOREBAY_LARGE_COUNT)
#define FOREBAY_MPI_LARGE_COUNT_FUNCTIONS(X) \
  X(File_get_type_extent_c) X(File_read_at_c) X(File_write_at_c) X(File_read_at_all_c) \
  X(File_write_at_all_c) X(File_read_c) X(File_write_c) X(File_read_all_c) \
  X(File_write_all_c) X(File_read_shared_c) X(File_write_shared_c) X(File_read_ordered_c) \
  X(File_write_ordered_c) X(File_iread_at_c) X(File_iwrite_at_c) X(File_iread_at_all_c) \
  X(File_iwrite_at_all_c) X(File_iread_c) X(File_iwrite_c) X(File_iread_all_c) \
  X(File_iwrite_all_c) X(File_iread_shared_c) X(File_iwrite_shared_c) \
  X(File_read_at_all_begin_c) X(File_write_at_all_begin_c) X(File_read_all_begin_c) \
  X(File_write_all_begin_c) X(File_read_ordered_begin_c) X(File_write_ordered_begin_c) \
  X(Register_datarep_c) X(Type_get_contents_c) X(Type_get_envelope_c) \
  X(Allgather_c) X(Allgatherv_c) X(Allreduce_c) X(Alltoall_c) X(Alltoallv_c) X(Alltoallw_c) \
  X(Bcast_c) X(Gather_c) X(Gatherv_c) X(Reduce_c) X(Reduce_scatter_c) X(Reduce_scatter_block_c) \
  X(Scatter_c) X(Scatterv_c) X(Iallgather_c) X(Iallgatherv_c) X(Iallreduce_c) X(Ialltoall_c) \
  X(Ialltoallv_c) X(Ialltoallw_c) X(Ibcast_c) X(Igather_c) X(Igatherv_c) X(Ireduce_c) \
  X(Ireduce_scatter_c) X(Ireduce_scatter_block_c) X(Iscatter_c) X(Iscatterv_c)
#else
#define FOREBAY_MPI_LARGE_COUNT_FUNCTIONS(X)
#endif

// Routines of MPI 4.1 that Open MPI 5.0 lacks (FOREBAY_STATUS_OF_MANY: the header declares them).
#if defined(FOREBAY_STATUS_OF_MANY)
#define FOREBAY_MPI_STATUS_OF_MANY_FUNCTIONS(X) \
  X(Request_get_status_any) X(Request_get_status_some) X(Request_get_status_all)
#else
#define FOREBAY_MPI_STATUS_OF_MANY_FUNCTIONS(X)
#endif

// Predefined handles: type, our name, the standard's name, Open MPI's data symbol.
#define FOREBAY_MPI_HANDLES(X)                                                \
  X(MPI_Comm, comm_null, MPI_COMM_NULL, ompi_mpi_comm_null)                   \
  X(MPI_Comm, comm_world, MPI_COMM_WORLD, ompi_mpi_comm_world)                \
  X(MPI_Comm, comm_self, MPI_COMM_SELF, ompi_mpi_comm_self)                   \
  X(MPI_Datatype, datatype_null, MPI_DATATYPE_NULL, ompi_mpi_datatype_null)   \
  X(MPI_Datatype, byte, MPI_BYTE, ompi_mpi_byte)                              \
  X(MPI_Datatype, integer, MPI_INT, ompi_mpi_int)                             \
  X(MPI_Datatype, int64, MPI_INT64_T, ompi_mpi_int64_t)                       \
  X(MPI_Datatype, packed, MPI_PACKED, ompi_mpi_packed)                        \
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
  X(MPI_Op, band, MPI_BAND, ompi_mpi_op_band)                                 \
  X(MPI_Op, max, MPI_MAX, ompi_mpi_op_max)                                    \
  X(MPI_Op, min, MPI_MIN, ompi_mpi_op_min)                                    \
  X(MPI_Op, sum, MPI_SUM, ompi_mpi_op_sum)                                    \
  X(MPI_Request, request_null, MPI_REQUEST_NULL, ompi_request_null)

// clang-format on

namespace forebay::mpiio {

// Functions are null where the loaded library lacks one; handles are those of the library.
struct MpiLibrary {
#define FOREBAY_DECLARE(name) decltype(&PMPI_##name) name = nullptr;
  FOREBAY_MPI_FUNCTIONS(FOREBAY_DECLARE)
  FOREBAY_MPI_LARGE_COUNT_FUNCTIONS(FOREBAY_DECLARE)
  FOREBAY_MPI_STATUS_OF_MANY_FUNCTIONS(FOREBAY_DECLARE)
#undef FOREBAY_DECLARE
#define FOREBAY_DECLARE(type, name, constant, symbol) type name{};
  FOREBAY_MPI_HANDLES(FOREBAY_DECLARE)
#undef FOREBAY_DECLARE
};

namespace internal {
extern MpiLibrary library;
}

// The library this process runs on. Filled before the first entry point can be called: by
// forebay_attach (preloaded) or when the interposer is loaded (linked).
inline const MpiLibrary& mpi() { return internal::library; }

// Connects to the MPI library at `path`, or, if null, to the one of this build's ABI found among
// the loaded objects. False: none there. Idempotent.
bool attach_library(const char* path);

// The name of the ABI this interposer was built for: "mpich", "mpiabi" or "openmpi".
const char* abi_name();

}  // namespace forebay::mpiio
