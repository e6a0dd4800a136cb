#include "mpiio/entry_points.h"

#include <iterator>

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
  return positioning == Positioning::ordered ||
         (collective && (handle.pass_through != cached_mode || handle.nodes != nullptr));
}

}  // namespace

// A parameter or argument list without its parentheses, and one that follows other items.
#define FOREBAY_UNWRAP(...) __VA_ARGS__
#define FOREBAY_REST(...) __VA_OPT__(, ) __VA_ARGS__

#define FOREBAY_PASS(name, parameters, arguments) \
  FOREBAY_EXPORT int MPI_##name parameters { return mpi().name arguments; }

#define FOREBAY_ALONE(name, parameters, arguments)                                          \
  FOREBAY_EXPORT int MPI_File_##name(MPI_File file FOREBAY_REST parameters) {               \
    if (Handle* handle = find_handle(file))                                                 \
      return alone(*handle, [&]() -> int { return name(*handle FOREBAY_REST arguments); }); \
    return mpi().File_##name(file FOREBAY_REST arguments);                                  \
  }
#define FOREBAY_ALONE_TRACED(name, parameters, arguments, argument)                         \
  FOREBAY_EXPORT int MPI_File_##name(MPI_File file FOREBAY_REST parameters) {               \
    const TracedCall traced(Routine::File_##name, file, argument);                          \
    if (Handle* handle = find_handle(file))                                                 \
      return alone(*handle, [&]() -> int { return name(*handle FOREBAY_REST arguments); }); \
    return mpi().File_##name(file FOREBAY_REST arguments);                                  \
  }
#define FOREBAY_TOGETHER_TRACED(name, parameters, arguments, argument)               \
  FOREBAY_EXPORT int MPI_File_##name(MPI_File file FOREBAY_REST parameters) {        \
    const TracedCall traced(Routine::File_##name, file, argument);                   \
    if (Handle* handle = find_handle(file))                                          \
      return awaited([&]() -> int { return name(*handle FOREBAY_REST arguments); }); \
    return mpi().File_##name(file FOREBAY_REST arguments);                           \
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

FOREBAY_PASSED_ROUTINES(FOREBAY_PASS)
FOREBAY_FILE_ROUTINES(FOREBAY_ALONE, FOREBAY_ALONE_TRACED, FOREBAY_TOGETHER_TRACED)

// A routine that may complete the program's requests. Forebay's requests are complete from the
// start; those of the MPI library are followed if the program is traced.
#define FOREBAY_COMPLETES(name, followed, parameters, arguments) \
  FOREBAY_EXPORT int MPI_##name parameters {                     \
    if (none_followed()) return mpi().name arguments;            \
    return followed arguments;                                   \
  }

FOREBAY_COMPLETING_ROUTINES(FOREBAY_COMPLETES)
#if defined(FOREBAY_STATUS_OF_MANY)
FOREBAY_STATUS_OF_MANY_ROUTINES(FOREBAY_COMPLETES)
#endif

// A collective by which the program orders its ranks, with its nonblocking twin
// (FOREBAY_COLLECTIVE), and a routine that makes a communicator (FOREBAY_COMM_MAKER).
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

// A data access routine. `act`: the call on a file of Forebay's. `library`: the call on any other
// file, which plain() passes to the MPI library.
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

// The data access routines. The buffer of a write is const.
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

FOREBAY_PASSED_ROUTINES_C(FOREBAY_PASS)

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
                      FOREBAY_NONBLOCKING_C, FOREBAY_BEGIN_AT_C, FOREBAY_BEGIN_C, FOREBAY_NO_NAME)

#endif

namespace {

// The routines that only a traced program is offered come last.
const forebay_entry_point entry_points[] = {
#define FOREBAY_ROUTINE(name) {#name, reinterpret_cast<void*>(&MPI_##name)},
    FOREBAY_ROUTINES FOREBAY_ROUTINES_IF_TRACED
#undef FOREBAY_ROUTINE
};

constexpr std::size_t always_offered = 0
#define FOREBAY_ROUTINE(name) +1
    FOREBAY_ROUTINES
#undef FOREBAY_ROUTINE
    ;

}  // namespace

// If a program is not traced, its calls of completion and communication routines go to the MPI
// library directly.
FOREBAY_EXPORT const forebay_entry_point* forebay_entry_points(size_t* count) {
  *count = to_be_traced() ? std::size(entry_points) : always_offered;
  return entry_points;
}

FOREBAY_EXPORT int forebay_attach(const char* libmpi_path) {
  return forebay::mpiio::attach_library(libmpi_path) ? 0 : -1;
}

FOREBAY_EXPORT void forebay_objects_loaded() { note_loaded_objects(); }
