#include "mpiio/entry_points.h"

#include <iterator>
#include <string_view>

#include "mpiio/access/access.h"
#include "mpiio/access/device_memory.h"
#include "mpiio/access/requests.h"
#include "mpiio/access/split_collectives.h"
#include "mpiio/file/atomic_mode.h"
#include "mpiio/file/file_view.h"
#include "mpiio/file/handle.h"
#include "mpiio/file/hints.h"
#include "mpiio/file/open_close.h"
#include "mpiio/file/positions.h"
#include "mpiio/file/sizes.h"
#include "mpiio/library/routines.h"
#include "mpiio/lifecycle.h"
#include "mpiio/refused_memory.h"
#include "mpiio/trace/followed_requests.h"
#include "mpiio/trace/ordering.h"
#include "mpiio/trace/tracing.h"

#define FOREBAY_EXPORT extern "C" [[gnu::visibility("default")]]

using namespace forebay::mpiio;

namespace {

// Whether other ranks may wait for this one in a data access routine.
bool is_awaited(const Handle& handle, Positioning positioning, bool collective) {
  return positioning == Positioning::ordered || (collective && handle.pass_through != cached_mode);
}

}  // namespace

// A routine without a part of ours.
#define FOREBAY_PASS(name, parameters, arguments) \
  FOREBAY_EXPORT int MPI_##name parameters { return mpi().name arguments; }

// A routine that `act` answers for files of ours: for this rank alone, or with the others. Some are
// traced, with an argument.
#define FOREBAY_ALONE(name, parameters, arguments, act)                                          \
  FOREBAY_EXPORT int MPI_##name parameters {                                                     \
    if (Handle* handle = find_handle(file)) return alone(*handle, [&]() -> int { return act; }); \
    return mpi().name arguments;                                                                 \
  }
#define FOREBAY_TOGETHER(name, parameters, arguments, act)                                \
  FOREBAY_EXPORT int MPI_##name parameters {                                              \
    if (Handle* handle = find_handle(file)) return awaited([&]() -> int { return act; }); \
    return mpi().name arguments;                                                          \
  }

#define FOREBAY_ALONE_TRACED(name, parameters, arguments, argument, act)                         \
  FOREBAY_EXPORT int MPI_##name parameters {                                                     \
    const TracedCall traced(Routine::name, file, argument);                                      \
    if (Handle* handle = find_handle(file)) return alone(*handle, [&]() -> int { return act; }); \
    return mpi().name arguments;                                                                 \
  }
#define FOREBAY_TOGETHER_TRACED(name, parameters, arguments, argument, act)               \
  FOREBAY_EXPORT int MPI_##name parameters {                                              \
    const TracedCall traced(Routine::name, file, argument);                               \
    if (Handle* handle = find_handle(file)) return awaited([&]() -> int { return act; }); \
    return mpi().name arguments;                                                          \
  }

FOREBAY_EXPORT int MPI_Init(int* argc, char*** argv) {
  return awaited([&] { return init(argc, argv); });
}

FOREBAY_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return awaited([&] { return init_thread(argc, argv, required, provided); });
}

FOREBAY_EXPORT int MPI_Finalize() { return awaited(finalize); }

FOREBAY_EXPORT int MPI_Abort(MPI_Comm comm, int code) { return forebay::mpiio::abort(comm, code); }

FOREBAY_EXPORT int MPI_File_open(MPI_Comm comm, const char* name, int amode, MPI_Info info,
                                 MPI_File* file) {
  return awaited([&] {
    begin_tracing(false);
    expect_gpu_library();
    TracedCall traced(Routine::File_open, mpi().file_null);
    const int code = open_file(comm, name, amode, info, file);
    if (code == MPI_SUCCESS && file != nullptr && *file != mpi().file_null)
      traced.opened(comm, name, amode, *file);
    return code;
  });
}

FOREBAY_EXPORT int MPI_File_close(MPI_File* file) {
  return awaited([&] {
    TracedCall traced(Routine::File_close, file == nullptr ? mpi().file_null : *file);
    if (file != nullptr) traced.closed(*file);
    return close_file(file);
  });
}

FOREBAY_TOGETHER_TRACED(File_set_size, (MPI_File file, MPI_Offset size), (file, size), size,
                        set_size(*handle, size))
FOREBAY_TOGETHER_TRACED(File_preallocate, (MPI_File file, MPI_Offset size), (file, size), size,
                        preallocate(*handle, size))
FOREBAY_ALONE(File_get_size, (MPI_File file, MPI_Offset* size), (file, size),
              get_size(*handle, size))
FOREBAY_ALONE(File_set_info, (MPI_File file, MPI_Info info), (file, info), set_info(*handle, info))
FOREBAY_ALONE(File_get_info, (MPI_File file, MPI_Info* info), (file, info), get_info(*handle, info))
FOREBAY_EXPORT int MPI_File_set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype,
                                     MPI_Datatype filetype, const char* datarep, MPI_Info info) {
  TracedCall traced(Routine::File_set_view, file, displacement);
  const auto act = [&](Handle* handle) {
    return handle == nullptr
               ? mpi().File_set_view(file, displacement, etype, filetype, datarep, info)
               : set_view(*handle, displacement, etype, filetype, datarep, info);
  };
  const int code = awaited([&] { return act(find_handle(file)); });
  if (code == MPI_SUCCESS) traced.viewed(file, displacement, etype, filetype, datarep);
  return code;
}
FOREBAY_ALONE(File_get_view,
              (MPI_File file, MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype,
               char* datarep),
              (file, displacement, etype, filetype, datarep),
              get_view(*handle, displacement, etype, filetype, datarep))
FOREBAY_ALONE_TRACED(File_seek, (MPI_File file, MPI_Offset offset, int whence),
                     (file, offset, whence), offset, seek(*handle, offset, whence))
FOREBAY_TOGETHER_TRACED(File_seek_shared, (MPI_File file, MPI_Offset offset, int whence),
                        (file, offset, whence), offset, seek_shared(*handle, offset, whence))
FOREBAY_ALONE(File_get_position, (MPI_File file, MPI_Offset* offset), (file, offset),
              get_position(*handle, offset))
FOREBAY_ALONE(File_get_position_shared, (MPI_File file, MPI_Offset* offset), (file, offset),
              get_position_shared(*handle, offset))
FOREBAY_ALONE(File_get_byte_offset, (MPI_File file, MPI_Offset offset, MPI_Offset* displacement),
              (file, offset, displacement), get_byte_offset(*handle, offset, displacement))
FOREBAY_TOGETHER_TRACED(File_set_atomicity, (MPI_File file, int flag), (file, flag), flag,
                        set_atomicity(*handle, flag))
FOREBAY_ALONE(File_get_atomicity, (MPI_File file, int* flag), (file, flag),
              get_atomicity(*handle, flag))
FOREBAY_TOGETHER_TRACED(File_sync, (MPI_File file), (file), 0, sync(*handle))

FOREBAY_PASS(File_delete, (const char* name, MPI_Info info), (name, info))
FOREBAY_PASS(File_get_group, (MPI_File file, MPI_Group* group), (file, group))
FOREBAY_PASS(File_get_amode, (MPI_File file, int* amode), (file, amode))
FOREBAY_PASS(File_get_type_extent, (MPI_File file, MPI_Datatype type, MPI_Aint* extent),
             (file, type, extent))
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

// A routine that may complete requests of the program's: ours are complete from the start, and the
// MPI library's are followed where the program is traced.
#define FOREBAY_COMPLETES(name, followed, parameters, arguments) \
  FOREBAY_EXPORT int MPI_##name parameters {                     \
    if (none_followed()) return mpi().name arguments;            \
    return followed arguments;                                   \
  }

FOREBAY_COMPLETES(Wait, wait_followed, (MPI_Request * request, MPI_Status* status),
                  (request, status))
FOREBAY_COMPLETES(Test, test_followed, (MPI_Request * request, int* flag, MPI_Status* status),
                  (request, flag, status))
FOREBAY_COMPLETES(Waitany, waitany_followed,
                  (int count, MPI_Request* requests, int* index, MPI_Status* status),
                  (count, requests, index, status))
FOREBAY_COMPLETES(Testany, testany_followed,
                  (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status),
                  (count, requests, index, flag, status))
FOREBAY_COMPLETES(Waitall, waitall_followed,
                  (int count, MPI_Request* requests, MPI_Status* statuses),
                  (count, requests, statuses))
FOREBAY_COMPLETES(Testall, testall_followed,
                  (int count, MPI_Request* requests, int* flag, MPI_Status* statuses),
                  (count, requests, flag, statuses))
FOREBAY_COMPLETES(Waitsome, waitsome_followed,
                  (int count, MPI_Request* requests, int* completed, int* indices,
                   MPI_Status* statuses),
                  (count, requests, completed, indices, statuses))
FOREBAY_COMPLETES(Testsome, testsome_followed,
                  (int count, MPI_Request* requests, int* completed, int* indices,
                   MPI_Status* statuses),
                  (count, requests, completed, indices, statuses))
FOREBAY_COMPLETES(Request_get_status, request_get_status_followed,
                  (MPI_Request request, int* flag, MPI_Status* status), (request, flag, status))
FOREBAY_COMPLETES(Request_free, request_free_followed, (MPI_Request * request), (request))

#if defined(FOREBAY_STATUS_OF_MANY)
FOREBAY_COMPLETES(Request_get_status_any, request_get_status_any_followed,
                  (int count, const MPI_Request* requests, int* index, int* flag,
                   MPI_Status* status),
                  (count, requests, index, flag, status))
FOREBAY_COMPLETES(Request_get_status_some, request_get_status_some_followed,
                  (int count, const MPI_Request* requests, int* completed, int* indices,
                   MPI_Status* statuses),
                  (count, requests, completed, indices, statuses))
FOREBAY_COMPLETES(Request_get_status_all, request_get_status_all_followed,
                  (int count, const MPI_Request* requests, int* flag, MPI_Status* statuses),
                  (count, requests, flag, statuses))
#endif

// A collective by which the program orders its ranks, with its nonblocking twin; and a routine that
// makes a communicator.
#define FOREBAY_UNWRAP(...) __VA_ARGS__
#define FOREBAY_COLLECTIVE(name, twin, parameters, arguments, part)                                \
  FOREBAY_EXPORT int MPI_##name parameters {                                                       \
    return ordering_call(                                                                          \
        comm, [&] { return mpi().name arguments; }, [&] { return part; });                         \
  }                                                                                                \
  FOREBAY_EXPORT int MPI_##twin(FOREBAY_UNWRAP parameters, MPI_Request* request) {                 \
    return ordering_call(                                                                          \
        comm, [&] { return mpi().twin(FOREBAY_UNWRAP arguments, request); }, [&] { return part; }, \
        request);                                                                                  \
  }
#define FOREBAY_COLLECTIVE_C(name, twin, parameters, arguments, part) \
  FOREBAY_COLLECTIVE(name##_c, twin##_c, parameters, arguments, part)
#define FOREBAY_COMM_MAKER(name, parameters, arguments)                       \
  FOREBAY_EXPORT int MPI_##name parameters {                                  \
    return descending_call(comm, made, [&] { return mpi().name arguments; }); \
  }

FOREBAY_BARRIER(FOREBAY_COLLECTIVE)
FOREBAY_COLLECTIVES(FOREBAY_COLLECTIVE, int, int)
#if defined(FOREBAY_LARGE_COUNT)
FOREBAY_COLLECTIVES(FOREBAY_COLLECTIVE_C, MPI_Count, MPI_Aint)
#endif
FOREBAY_COMM_MAKERS(FOREBAY_COMM_MAKER)

// A data access routine. `library`: what is done, by plain(), where the file is the library's
// alone.
#define FOREBAY_ACCESS(name, position, group, parameters, arguments, library, act)     \
  FOREBAY_EXPORT int MPI_##name parameters {                                           \
    TracedCall traced(Routine::name, file);                                            \
    Handle* handle = find_handle(file);                                                \
    const auto plain = [&] { return mpi().name arguments; };                           \
    if (handle == nullptr) return library;                                             \
    const auto acting = [&]() -> int { return act; };                                  \
    return is_awaited(*handle, Positioning::position, group) ? awaited(acting)         \
                                                             : alone(*handle, acting); \
  }

// The data access routines. A buffer is const where it is written to the file.
#define FOREBAY_BUFFER_read void*
#define FOREBAY_BUFFER_write const void*
#define FOREBAY_TOGETHER_alone false
#define FOREBAY_TOGETHER_together true

#define FOREBAY_CALL_OF(op, position, group, is_blocking, etype_offset)                        \
  Call {                                                                                       \
    Operation::op, Positioning::position, FOREBAY_TOGETHER_##group, is_blocking, etype_offset, \
        const_cast<void*>(static_cast<const void*>(buffer)), count, type                       \
  }

#define FOREBAY_BLOCKING_AT_(name, op, position, group, count_type)                           \
  FOREBAY_ACCESS(                                                                             \
      File_##name, position, FOREBAY_TOGETHER_##group,                                        \
      (MPI_File file, MPI_Offset offset, FOREBAY_BUFFER_##op buffer, count_type count,        \
       MPI_Datatype type, MPI_Status * status),                                               \
      (file, offset, buffer, count, type, status),                                            \
      traced.library_access(file, FOREBAY_CALL_OF(op, position, group, true, offset), status, \
                            plain),                                                           \
      finish(transfer(*handle, FOREBAY_CALL_OF(op, position, group, true, offset)), status))
#define FOREBAY_BLOCKING_(name, op, position, group, count_type)                                 \
  FOREBAY_ACCESS(                                                                                \
      File_##name, position, FOREBAY_TOGETHER_##group,                                           \
      (MPI_File file, FOREBAY_BUFFER_##op buffer, count_type count, MPI_Datatype type,           \
       MPI_Status * status),                                                                     \
      (file, buffer, count, type, status),                                                       \
      traced.library_access(file, FOREBAY_CALL_OF(op, position, group, true, 0), status, plain), \
      finish(transfer(*handle, FOREBAY_CALL_OF(op, position, group, true, 0)), status))
#define FOREBAY_NONBLOCKING_AT_(name, op, position, group, count_type)                           \
  FOREBAY_ACCESS(                                                                                \
      File_##name, position, FOREBAY_TOGETHER_##group,                                           \
      (MPI_File file, MPI_Offset offset, FOREBAY_BUFFER_##op buffer, count_type count,           \
       MPI_Datatype type, MPI_Request * request),                                                \
      (file, offset, buffer, count, type, request),                                              \
      traced.library_request(file, FOREBAY_CALL_OF(op, position, group, false, offset), request, \
                             plain),                                                             \
      start_request(*handle, FOREBAY_CALL_OF(op, position, group, false, offset), request))
#define FOREBAY_NONBLOCKING_(name, op, position, group, count_type)                               \
  FOREBAY_ACCESS(File_##name, position, FOREBAY_TOGETHER_##group,                                 \
                 (MPI_File file, FOREBAY_BUFFER_##op buffer, count_type count, MPI_Datatype type, \
                  MPI_Request * request),                                                         \
                 (file, buffer, count, type, request),                                            \
                 traced.library_request(file, FOREBAY_CALL_OF(op, position, group, false, 0),     \
                                        request, plain),                                          \
                 start_request(*handle, FOREBAY_CALL_OF(op, position, group, false, 0), request))
#define FOREBAY_BEGIN_AT_(name, op, position, group, count_type)                              \
  FOREBAY_ACCESS(                                                                             \
      File_##name, position, FOREBAY_TOGETHER_##group,                                        \
      (MPI_File file, MPI_Offset offset, FOREBAY_BUFFER_##op buffer, count_type count,        \
       MPI_Datatype type),                                                                    \
      (file, offset, buffer, count, type),                                                    \
      traced.library_begin(file, FOREBAY_CALL_OF(op, position, group, false, offset), plain), \
      begin_split(*handle, FOREBAY_CALL_OF(op, position, group, false, offset)))
#define FOREBAY_BEGIN_(name, op, position, group, count_type)                            \
  FOREBAY_ACCESS(                                                                        \
      File_##name, position, FOREBAY_TOGETHER_##group,                                   \
      (MPI_File file, FOREBAY_BUFFER_##op buffer, count_type count, MPI_Datatype type),  \
      (file, buffer, count, type),                                                       \
      traced.library_begin(file, FOREBAY_CALL_OF(op, position, group, false, 0), plain), \
      begin_split(*handle, FOREBAY_CALL_OF(op, position, group, false, 0)))

#define FOREBAY_BLOCKING_AT(name, op, position, group) \
  FOREBAY_BLOCKING_AT_(name, op, position, group, int)
#define FOREBAY_BLOCKING(name, op, position, group) \
  FOREBAY_BLOCKING_(name, op, position, group, int)
#define FOREBAY_NONBLOCKING_AT(name, op, position, group) \
  FOREBAY_NONBLOCKING_AT_(name, op, position, group, int)
#define FOREBAY_NONBLOCKING(name, op, position, group) \
  FOREBAY_NONBLOCKING_(name, op, position, group, int)
#define FOREBAY_BEGIN_AT(name, op, position, group) \
  FOREBAY_BEGIN_AT_(name, op, position, group, int)
#define FOREBAY_BEGIN(name, op, position, group) FOREBAY_BEGIN_(name, op, position, group, int)
#define FOREBAY_END(name, op, position, group)                                     \
  FOREBAY_ACCESS(File_##name, position, FOREBAY_TOGETHER_##group,                  \
                 (MPI_File file, FOREBAY_BUFFER_##op buffer, MPI_Status * status), \
                 (file, buffer, status), traced.library_end(status, plain),        \
                 end_split(*handle, Operation::op, Positioning::position, status))

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

#define FOREBAY_BLOCKING_AT_C(name, op, position, group) \
  FOREBAY_BLOCKING_AT_(name##_c, op, position, group, MPI_Count)
#define FOREBAY_BLOCKING_C(name, op, position, group) \
  FOREBAY_BLOCKING_(name##_c, op, position, group, MPI_Count)
#define FOREBAY_NONBLOCKING_AT_C(name, op, position, group) \
  FOREBAY_NONBLOCKING_AT_(name##_c, op, position, group, MPI_Count)
#define FOREBAY_NONBLOCKING_C(name, op, position, group) \
  FOREBAY_NONBLOCKING_(name##_c, op, position, group, MPI_Count)
#define FOREBAY_BEGIN_AT_C(name, op, position, group) \
  FOREBAY_BEGIN_AT_(name##_c, op, position, group, MPI_Count)
#define FOREBAY_BEGIN_C(name, op, position, group) \
  FOREBAY_BEGIN_(name##_c, op, position, group, MPI_Count)

FOREBAY_DATA_ROUTINES(FOREBAY_BLOCKING_AT_C, FOREBAY_BLOCKING_C, FOREBAY_NONBLOCKING_AT_C,
                      FOREBAY_NONBLOCKING_C, FOREBAY_BEGIN_AT_C, FOREBAY_BEGIN_C, FOREBAY_NO_TWIN)

#endif

namespace {

#define FOREBAY_ROW(name) {#name, reinterpret_cast<void*>(&MPI_##name)},
#define FOREBAY_DATA_ROW(name, op, position, group) FOREBAY_ROW(File_##name)
#define FOREBAY_DATA_ROW_C(name, op, position, group) FOREBAY_ROW(File_##name##_c)

#define FOREBAY_COLLECTIVE_ROWS(name, twin, parameters, arguments, part) \
  FOREBAY_ROW(name) FOREBAY_ROW(twin)
#define FOREBAY_COLLECTIVE_ROWS_C(name, twin, parameters, arguments, part) \
  FOREBAY_ROW(name##_c) FOREBAY_ROW(twin##_c)
#define FOREBAY_COMM_MAKER_ROW(name, parameters, arguments) FOREBAY_ROW(name)

const forebay_entry_point entry_points[] = {
    FOREBAY_ROW(Init) FOREBAY_ROW(Init_thread) FOREBAY_ROW(Finalize) FOREBAY_ROW(Abort) FOREBAY_ROW(
        File_open) FOREBAY_ROW(File_close) FOREBAY_ROW(File_delete) FOREBAY_ROW(File_set_size)
        FOREBAY_ROW(File_preallocate) FOREBAY_ROW(File_get_size) FOREBAY_ROW(File_get_group)
            FOREBAY_ROW(File_get_amode) FOREBAY_ROW(File_set_info) FOREBAY_ROW(File_get_info)
                FOREBAY_ROW(File_set_view) FOREBAY_ROW(File_get_view) FOREBAY_ROW(File_seek)
                    FOREBAY_ROW(File_seek_shared) FOREBAY_ROW(File_get_position) FOREBAY_ROW(
                        File_get_position_shared) FOREBAY_ROW(File_get_byte_offset)
                        FOREBAY_ROW(File_get_type_extent) FOREBAY_ROW(File_set_atomicity)
                            FOREBAY_ROW(File_get_atomicity) FOREBAY_ROW(File_sync) FOREBAY_ROW(
                                File_create_errhandler) FOREBAY_ROW(File_set_errhandler)
                                FOREBAY_ROW(File_get_errhandler) FOREBAY_ROW(File_call_errhandler)
                                    FOREBAY_ROW(Register_datarep)
                                        FOREBAY_EVERY_DATA_ROUTINE(FOREBAY_DATA_ROW)
#if defined(FOREBAY_LARGE_COUNT)
                                            FOREBAY_ROW(File_get_type_extent_c)
                                                FOREBAY_ROW(Register_datarep_c)
                                                    FOREBAY_EVERY_DATA_ROUTINE_C(FOREBAY_DATA_ROW_C)
#endif

    // Behind the others, as only a traced program is offered them.
    FOREBAY_ROW(Wait) FOREBAY_ROW(Test) FOREBAY_ROW(Waitany) FOREBAY_ROW(Testany)
        FOREBAY_ROW(Waitall) FOREBAY_ROW(Testall) FOREBAY_ROW(Waitsome) FOREBAY_ROW(Testsome)
            FOREBAY_ROW(Request_get_status) FOREBAY_ROW(Request_free)
                FOREBAY_MPI_STATUS_OF_MANY_FUNCTIONS(FOREBAY_ROW)
                    FOREBAY_BARRIER(FOREBAY_COLLECTIVE_ROWS)
                        FOREBAY_COLLECTIVES(FOREBAY_COLLECTIVE_ROWS, , )
#if defined(FOREBAY_LARGE_COUNT)
                            FOREBAY_COLLECTIVES(FOREBAY_COLLECTIVE_ROWS_C, , )
#endif
                                FOREBAY_COMM_MAKERS(FOREBAY_COMM_MAKER_ROW)};

// Where those begin that only a traced program is offered.
std::size_t always_offered() {
  std::size_t first = 0;
  while (std::string_view(entry_points[first].name) != "Wait") ++first;
  return first;
}

}  // namespace

// A program that is not traced keeps its MPI library's own routines of completion and of
// communication.
FOREBAY_EXPORT const forebay_entry_point* forebay_entry_points(size_t* count) {
  *count = to_be_traced() ? std::size(entry_points) : always_offered();
  return entry_points;
}

FOREBAY_EXPORT int forebay_attach(const char* libmpi_path) {
  return forebay::mpiio::attach_library(libmpi_path) ? 0 : -1;
}

FOREBAY_EXPORT void forebay_objects_loaded() { note_loaded_objects(); }
