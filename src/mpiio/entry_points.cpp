#include "mpiio/entry_points.h"

#include <iterator>

#include "mpiio/routines.h"

#define FOREBAY_EXPORT extern "C" [[gnu::visibility("default")]]

using forebay::mpiio::mpi;

// A buffer is const where it is written to the file.
#define FOREBAY_BUFFER_read void*
#define FOREBAY_BUFFER_write const void*

// A routine without a part of ours.
#define FOREBAY_PASS(name, parameters, arguments) \
  FOREBAY_EXPORT int MPI_##name parameters { return mpi().name arguments; }

FOREBAY_PASS(Init, (int* argc, char*** argv), (argc, argv))
FOREBAY_PASS(Init_thread, (int* argc, char*** argv, int required, int* provided),
             (argc, argv, required, provided))
FOREBAY_PASS(Finalize, (), ())
FOREBAY_PASS(Abort, (MPI_Comm comm, int code), (comm, code))

FOREBAY_PASS(File_open, (MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* file),
             (comm, name, amode, info, file))
FOREBAY_PASS(File_close, (MPI_File * file), (file))
FOREBAY_PASS(File_delete, (const char* name, MPI_Info info), (name, info))
FOREBAY_PASS(File_set_size, (MPI_File file, MPI_Offset size), (file, size))
FOREBAY_PASS(File_preallocate, (MPI_File file, MPI_Offset size), (file, size))
FOREBAY_PASS(File_get_size, (MPI_File file, MPI_Offset* size), (file, size))
FOREBAY_PASS(File_get_group, (MPI_File file, MPI_Group* group), (file, group))
FOREBAY_PASS(File_get_amode, (MPI_File file, int* amode), (file, amode))
FOREBAY_PASS(File_set_info, (MPI_File file, MPI_Info info), (file, info))
FOREBAY_PASS(File_get_info, (MPI_File file, MPI_Info* info), (file, info))
FOREBAY_PASS(File_set_view,
             (MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
              const char* datarep, MPI_Info info),
             (file, displacement, etype, filetype, datarep, info))
FOREBAY_PASS(File_get_view,
             (MPI_File file, MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype,
              char* datarep),
             (file, displacement, etype, filetype, datarep))
FOREBAY_PASS(File_seek, (MPI_File file, MPI_Offset offset, int whence), (file, offset, whence))
FOREBAY_PASS(File_seek_shared, (MPI_File file, MPI_Offset offset, int whence),
             (file, offset, whence))
FOREBAY_PASS(File_get_position, (MPI_File file, MPI_Offset* offset), (file, offset))
FOREBAY_PASS(File_get_position_shared, (MPI_File file, MPI_Offset* offset), (file, offset))
FOREBAY_PASS(File_get_byte_offset, (MPI_File file, MPI_Offset offset, MPI_Offset* displacement),
             (file, offset, displacement))
FOREBAY_PASS(File_get_type_extent, (MPI_File file, MPI_Datatype type, MPI_Aint* extent),
             (file, type, extent))
FOREBAY_PASS(File_set_atomicity, (MPI_File file, int flag), (file, flag))
FOREBAY_PASS(File_get_atomicity, (MPI_File file, int* flag), (file, flag))
FOREBAY_PASS(File_sync, (MPI_File file), (file))
FOREBAY_PASS(File_create_errhandler,
             (MPI_File_errhandler_function * function, MPI_Errhandler* handler),
             (function, handler))
FOREBAY_PASS(File_set_errhandler, (MPI_File file, MPI_Errhandler handler), (file, handler))
FOREBAY_PASS(File_get_errhandler, (MPI_File file, MPI_Errhandler* handler), (file, handler))
FOREBAY_PASS(File_call_errhandler, (MPI_File file, int code), (file, code))
FOREBAY_PASS(Register_datarep,
             (const char* name, MPI_Datarep_conversion_function* read_function,
              MPI_Datarep_conversion_function* write_function,
              MPI_Datarep_extent_function* extent_function, void* state),
             (name, read_function, write_function, extent_function, state))

#define FOREBAY_BLOCKING_AT_(name, buffer_type, count_type)                             \
  FOREBAY_PASS(File_##name,                                                             \
               (MPI_File file, MPI_Offset offset, buffer_type buffer, count_type count, \
                MPI_Datatype type, MPI_Status * status),                                \
               (file, offset, buffer, count, type, status))
#define FOREBAY_BLOCKING_(name, buffer_type, count_type)                                \
  FOREBAY_PASS(File_##name,                                                             \
               (MPI_File file, buffer_type buffer, count_type count, MPI_Datatype type, \
                MPI_Status * status),                                                   \
               (file, buffer, count, type, status))
#define FOREBAY_NONBLOCKING_AT_(name, buffer_type, count_type)                          \
  FOREBAY_PASS(File_##name,                                                             \
               (MPI_File file, MPI_Offset offset, buffer_type buffer, count_type count, \
                MPI_Datatype type, MPI_Request * request),                              \
               (file, offset, buffer, count, type, request))
#define FOREBAY_NONBLOCKING_(name, buffer_type, count_type)                             \
  FOREBAY_PASS(File_##name,                                                             \
               (MPI_File file, buffer_type buffer, count_type count, MPI_Datatype type, \
                MPI_Request * request),                                                 \
               (file, buffer, count, type, request))
#define FOREBAY_BEGIN_AT_(name, buffer_type, count_type)                                           \
  FOREBAY_PASS(                                                                                    \
      File_##name,                                                                                 \
      (MPI_File file, MPI_Offset offset, buffer_type buffer, count_type count, MPI_Datatype type), \
      (file, offset, buffer, count, type))
#define FOREBAY_BEGIN_(name, buffer_type, count_type)                                    \
  FOREBAY_PASS(File_##name,                                                              \
               (MPI_File file, buffer_type buffer, count_type count, MPI_Datatype type), \
               (file, buffer, count, type))

#define FOREBAY_BLOCKING_AT(name, op, position) FOREBAY_BLOCKING_AT_(name, FOREBAY_BUFFER_##op, int)
#define FOREBAY_BLOCKING(name, op, position) FOREBAY_BLOCKING_(name, FOREBAY_BUFFER_##op, int)
#define FOREBAY_NONBLOCKING_AT(name, op, position) \
  FOREBAY_NONBLOCKING_AT_(name, FOREBAY_BUFFER_##op, int)
#define FOREBAY_NONBLOCKING(name, op, position) FOREBAY_NONBLOCKING_(name, FOREBAY_BUFFER_##op, int)
#define FOREBAY_BEGIN_AT(name, op, position) FOREBAY_BEGIN_AT_(name, FOREBAY_BUFFER_##op, int)
#define FOREBAY_BEGIN(name, op, position) FOREBAY_BEGIN_(name, FOREBAY_BUFFER_##op, int)
#define FOREBAY_END(name, op, position)                                                       \
  FOREBAY_PASS(File_##name, (MPI_File file, FOREBAY_BUFFER_##op buffer, MPI_Status * status), \
               (file, buffer, status))

FOREBAY_DATA_ROUTINES(FOREBAY_BLOCKING_AT, FOREBAY_BLOCKING, FOREBAY_NONBLOCKING_AT,
                      FOREBAY_NONBLOCKING, FOREBAY_BEGIN_AT, FOREBAY_BEGIN, FOREBAY_END)

#if defined(FOREBAY_LARGE_COUNT)

FOREBAY_PASS(File_get_type_extent_c, (MPI_File file, MPI_Datatype type, MPI_Count* extent),
             (file, type, extent))
FOREBAY_PASS(Register_datarep_c,
             (const char* name, MPI_Datarep_conversion_function_c* read_function,
              MPI_Datarep_conversion_function_c* write_function,
              MPI_Datarep_extent_function* extent_function, void* state),
             (name, read_function, write_function, extent_function, state))

#define FOREBAY_BLOCKING_AT_C(name, op, position) \
  FOREBAY_BLOCKING_AT_(name##_c, FOREBAY_BUFFER_##op, MPI_Count)
#define FOREBAY_BLOCKING_C(name, op, position) \
  FOREBAY_BLOCKING_(name##_c, FOREBAY_BUFFER_##op, MPI_Count)
#define FOREBAY_NONBLOCKING_AT_C(name, op, position) \
  FOREBAY_NONBLOCKING_AT_(name##_c, FOREBAY_BUFFER_##op, MPI_Count)
#define FOREBAY_NONBLOCKING_C(name, op, position) \
  FOREBAY_NONBLOCKING_(name##_c, FOREBAY_BUFFER_##op, MPI_Count)
#define FOREBAY_BEGIN_AT_C(name, op, position) \
  FOREBAY_BEGIN_AT_(name##_c, FOREBAY_BUFFER_##op, MPI_Count)
#define FOREBAY_BEGIN_C(name, op, position) FOREBAY_BEGIN_(name##_c, FOREBAY_BUFFER_##op, MPI_Count)
#define FOREBAY_NO_TWIN(name, op, position)

FOREBAY_DATA_ROUTINES(FOREBAY_BLOCKING_AT_C, FOREBAY_BLOCKING_C, FOREBAY_NONBLOCKING_AT_C,
                      FOREBAY_NONBLOCKING_C, FOREBAY_BEGIN_AT_C, FOREBAY_BEGIN_C, FOREBAY_NO_TWIN)

#endif

namespace {

#define FOREBAY_ROW(name) {#name, reinterpret_cast<void*>(&MPI_##name)},
#define FOREBAY_DATA_ROW(name, op, position) FOREBAY_ROW(File_##name)
#define FOREBAY_DATA_ROW_C(name, op, position) FOREBAY_ROW(File_##name##_c)

const forebay_entry_point entry_points[] = {
    FOREBAY_ROW(Init) FOREBAY_ROW(Init_thread) FOREBAY_ROW(Finalize) FOREBAY_ROW(Abort) FOREBAY_ROW(
        File_open) FOREBAY_ROW(File_close) FOREBAY_ROW(File_delete) FOREBAY_ROW(File_set_size)
        FOREBAY_ROW(File_preallocate) FOREBAY_ROW(File_get_size) FOREBAY_ROW(File_get_group)
            FOREBAY_ROW(File_get_amode) FOREBAY_ROW(File_set_info) FOREBAY_ROW(
                File_get_info) FOREBAY_ROW(File_set_view) FOREBAY_ROW(File_get_view)
                FOREBAY_ROW(File_seek) FOREBAY_ROW(File_seek_shared) FOREBAY_ROW(
                    File_get_position) FOREBAY_ROW(File_get_position_shared)
                    FOREBAY_ROW(File_get_byte_offset) FOREBAY_ROW(File_get_type_extent) FOREBAY_ROW(
                        File_set_atomicity) FOREBAY_ROW(File_get_atomicity) FOREBAY_ROW(File_sync)
                        FOREBAY_ROW(File_create_errhandler) FOREBAY_ROW(File_set_errhandler)
                            FOREBAY_ROW(File_get_errhandler) FOREBAY_ROW(File_call_errhandler)
                                FOREBAY_ROW(Register_datarep) FOREBAY_DATA_ROUTINES(
                                    FOREBAY_DATA_ROW, FOREBAY_DATA_ROW, FOREBAY_DATA_ROW,
                                    FOREBAY_DATA_ROW, FOREBAY_DATA_ROW, FOREBAY_DATA_ROW,
                                    FOREBAY_DATA_ROW)
#if defined(FOREBAY_LARGE_COUNT)
                                    FOREBAY_ROW(File_get_type_extent_c)
                                        FOREBAY_ROW(Register_datarep_c) FOREBAY_DATA_ROUTINES(
                                            FOREBAY_DATA_ROW_C, FOREBAY_DATA_ROW_C,
                                            FOREBAY_DATA_ROW_C, FOREBAY_DATA_ROW_C,
                                            FOREBAY_DATA_ROW_C, FOREBAY_DATA_ROW_C, FOREBAY_NO_TWIN)
#endif
};

}  // namespace

FOREBAY_EXPORT const forebay_entry_point* forebay_entry_points(size_t* count) {
  *count = std::size(entry_points);
  return entry_points;
}

FOREBAY_EXPORT int forebay_attach(const char* libmpi_path) {
  return forebay::mpiio::attach_library(libmpi_path) ? 0 : -1;
}
