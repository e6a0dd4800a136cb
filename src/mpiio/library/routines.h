// Tables of the MPI routines that Forebay answers; each routine stands here once. The entry points,
// the table for the preload, the pointers to the MPI library's routines and the names in traces are
// made from them.
//
// A table is a macro. Its parameters are macros, one of which it calls for each row. Parameters and
// arguments of a routine stand in parentheses.
#pragma once

// clang-format off

// Routines with a function of Forebay's for all files: name. TRACED ones are recorded.
#define FOREBAY_OWN_ROUTINES(UNTRACED, TRACED) \
  UNTRACED(Init) UNTRACED(Init_thread) UNTRACED(Finalize) UNTRACED(Abort) \
  TRACED(File_open) TRACED(File_close) TRACED(File_set_view)

// Routines that are always passed to the MPI library: name, parameters, arguments.
#define FOREBAY_PASSED_ROUTINES(X) \
  X(File_delete, (const char* name, MPI_Info info), (name, info)) \
  X(File_get_group, (MPI_File file, MPI_Group* group), (file, group)) \
  X(File_get_amode, (MPI_File file, int* amode), (file, amode)) \
  X(File_get_type_extent, (MPI_File file, MPI_Datatype type, MPI_Aint* extent), \
    (file, type, extent)) \
  X(File_create_errhandler, (MPI_File_errhandler_function* function, MPI_Errhandler* handler), \
    (function, handler)) \
  X(File_set_errhandler, (MPI_File file, MPI_Errhandler handler), (file, handler)) \
  X(File_get_errhandler, (MPI_File file, MPI_Errhandler* handler), (file, handler)) \
  X(File_call_errhandler, (MPI_File file, int code), (file, code)) \
  X(Register_datarep, \
    (const char* name, MPI_Datarep_conversion_function* read_function, \
     MPI_Datarep_conversion_function* write_function, \
     MPI_Datarep_extent_function* extent_function, void* state), \
    (name, read_function, write_function, extent_function, state))
#define FOREBAY_PASSED_ROUTINES_C(X) \
  X(File_get_type_extent_c, (MPI_File file, MPI_Datatype type, MPI_Count* extent), \
    (file, type, extent)) \
  X(Register_datarep_c, \
    (const char* name, MPI_Datarep_conversion_function_c* read_function, \
     MPI_Datarep_conversion_function_c* write_function, \
     MPI_Datarep_extent_function* extent_function, void* state), \
    (name, read_function, write_function, extent_function, state))

// Routines about one file: name without "MPI_File_", parameters and arguments after the file. For
// Forebay's files a function of the same name answers, with the handle instead of the file. ALONE:
// other ranks do not wait for this one; TOGETHER: they may. TRACED ones are recorded with the last
// argument of the row.
#define FOREBAY_FILE_ROUTINES(ALONE, ALONE_TRACED, TOGETHER_TRACED) \
  TOGETHER_TRACED(set_size, (MPI_Offset size), (size), size) \
  TOGETHER_TRACED(preallocate, (MPI_Offset size), (size), size) \
  ALONE(get_size, (MPI_Offset* size), (size)) \
  ALONE(set_info, (MPI_Info info), (info)) \
  ALONE(get_info, (MPI_Info* info), (info)) \
  ALONE(get_view, \
    (MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep), \
    (displacement, etype, filetype, datarep)) \
  ALONE_TRACED(seek, (MPI_Offset offset, int whence), (offset, whence), offset) \
  TOGETHER_TRACED(seek_shared, (MPI_Offset offset, int whence), (offset, whence), offset) \
  ALONE(get_position, (MPI_Offset* offset), (offset)) \
  ALONE(get_position_shared, (MPI_Offset* offset), (offset)) \
  ALONE(get_byte_offset, (MPI_Offset offset, MPI_Offset* displacement), (offset, displacement)) \
  TOGETHER_TRACED(set_atomicity, (int flag), (flag), flag) \
  ALONE(get_atomicity, (int* flag), (flag)) \
  TOGETHER_TRACED(sync, (), (), 0)

// The data access routines of MPI 4.1, table 14.1: name without "MPI_File_", whether it reads or
// writes, which position it uses, and whether it is collective (`together`) or independent
// (`alone`). All are recorded. The macros say by their place which parameters the routine has:
//   BLOCKING_AT      (file, offset, buffer, count, type, status)
//   BLOCKING         (file, buffer, count, type, status)
//   NONBLOCKING_AT   (file, offset, buffer, count, type, request)
//   NONBLOCKING      (file, buffer, count, type, request)
//   BEGIN_AT         (file, offset, buffer, count, type)
//   BEGIN            (file, buffer, count, type)
//   END              (file, buffer, status)
// All but END have a large-count twin with "_c" appended.
#define FOREBAY_DATA_ROUTINES(BLOCKING_AT, BLOCKING, NONBLOCKING_AT, NONBLOCKING, BEGIN_AT, BEGIN, \
                              END) \
  BLOCKING_AT(read_at, read, given, alone) \
  BLOCKING_AT(write_at, write, given, alone) \
  BLOCKING_AT(read_at_all, read, given, together) \
  BLOCKING_AT(write_at_all, write, given, together) \
  BLOCKING(read, read, individual, alone) \
  BLOCKING(write, write, individual, alone) \
  BLOCKING(read_all, read, individual, together) \
  BLOCKING(write_all, write, individual, together) \
  BLOCKING(read_shared, read, shared, alone) \
  BLOCKING(write_shared, write, shared, alone) \
  BLOCKING(read_ordered, read, ordered, together) \
  BLOCKING(write_ordered, write, ordered, together) \
  NONBLOCKING_AT(iread_at, read, given, alone) \
  NONBLOCKING_AT(iwrite_at, write, given, alone) \
  NONBLOCKING_AT(iread_at_all, read, given, together) \
  NONBLOCKING_AT(iwrite_at_all, write, given, together) \
  NONBLOCKING(iread, read, individual, alone) \
  NONBLOCKING(iwrite, write, individual, alone) \
  NONBLOCKING(iread_all, read, individual, together) \
  NONBLOCKING(iwrite_all, write, individual, together) \
  NONBLOCKING(iread_shared, read, shared, alone) \
  NONBLOCKING(iwrite_shared, write, shared, alone) \
  BEGIN_AT(read_at_all_begin, read, given, together) \
  BEGIN_AT(write_at_all_begin, write, given, together) \
  BEGIN(read_all_begin, read, individual, together) \
  BEGIN(write_all_begin, write, individual, together) \
  BEGIN(read_ordered_begin, read, ordered, together) \
  BEGIN(write_ordered_begin, write, ordered, together) \
  END(read_at_all_end, read, given, together) \
  END(write_at_all_end, write, given, together) \
  END(read_all_end, read, individual, together) \
  END(write_all_end, write, individual, together) \
  END(read_ordered_end, read, ordered, together) \
  END(write_ordered_end, write, ordered, together)

// The routines that complete a program's requests, or tell whether they are complete: name,
// Forebay's function (trace/followed_requests.h), parameters, arguments.
#define FOREBAY_COMPLETING_ROUTINES(X) \
  X(Wait, wait_followed, (MPI_Request* request, MPI_Status* status), (request, status)) \
  X(Test, test_followed, (MPI_Request* request, int* flag, MPI_Status* status), \
    (request, flag, status)) \
  X(Waitany, waitany_followed, \
    (int count, MPI_Request* requests, int* index, MPI_Status* status), \
    (count, requests, index, status)) \
  X(Testany, testany_followed, \
    (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status), \
    (count, requests, index, flag, status)) \
  X(Waitall, waitall_followed, (int count, MPI_Request* requests, MPI_Status* statuses), \
    (count, requests, statuses)) \
  X(Testall, testall_followed, \
    (int count, MPI_Request* requests, int* flag, MPI_Status* statuses), \
    (count, requests, flag, statuses)) \
  X(Waitsome, waitsome_followed, \
    (int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses), \
    (count, requests, completed, indices, statuses)) \
  X(Testsome, testsome_followed, \
    (int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses), \
    (count, requests, completed, indices, statuses)) \
  X(Request_get_status, request_get_status_followed, \
    (MPI_Request request, int* flag, MPI_Status* status), (request, flag, status)) \
  X(Request_free, request_free_followed, (MPI_Request* request), (request))
#define FOREBAY_STATUS_OF_MANY_ROUTINES(X) \
  X(Request_get_status_any, request_get_status_any_followed, \
    (int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status), \
    (count, requests, index, flag, status)) \
  X(Request_get_status_some, request_get_status_some_followed, \
    (int count, const MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses), \
    (count, requests, completed, indices, statuses)) \
  X(Request_get_status_all, request_get_status_all_followed, \
    (int count, const MPI_Request* requests, int* flag, MPI_Status* statuses), \
    (count, requests, flag, statuses))

// The collectives by which a program orders its ranks, and their nonblocking twins: name, twin,
// parameters, arguments, this rank's part (trace/ordering.h). All but MPI_Barrier have large-count
// twins with "_c" appended (COUNT, DISPLACEMENT: MPI_Count, MPI_Aint).
#define FOREBAY_BARRIER(X) \
  X(Barrier, Ibarrier, (MPI_Comm comm), (comm), Part::exchanges)
#define FOREBAY_COLLECTIVES(X, COUNT, DISPLACEMENT) \
  X(Bcast, Ibcast, \
    (void* buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm), \
    (buffer, count, type, root, comm), \
    from_root(comm, root, [&] { return carries(count, type); })) \
  X(Gather, Igather, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, COUNT count, \
     MPI_Datatype type, int root, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, count, type, root, comm), \
    to_root(comm, root, [&] { return carries(count, type); })) \
  X(Gatherv, Igatherv, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, \
     const COUNT* counts, const DISPLACEMENT* places, MPI_Datatype type, int root, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, counts, places, type, root, comm), \
    to_root(comm, root, [&] { return all_carry(comm, counts, type); })) \
  X(Scatter, Iscatter, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, COUNT count, \
     MPI_Datatype type, int root, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, count, type, root, comm), \
    from_root(comm, root, [&] { return carries(count, type); })) \
  X(Scatterv, Iscatterv, \
    (const void* sent, const COUNT* sent_counts, const DISPLACEMENT* places, \
     MPI_Datatype sent_type, void* received, COUNT count, MPI_Datatype type, int root, \
     MPI_Comm comm), \
    (sent, sent_counts, places, sent_type, received, count, type, root, comm), \
    from_root(comm, root, [&] { return carries(count, type); })) \
  X(Allgather, Iallgather, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, COUNT count, \
     MPI_Datatype type, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, count, type, comm), \
    among_all(carries(count, type))) \
  X(Allgatherv, Iallgatherv, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, \
     const COUNT* counts, const DISPLACEMENT* places, MPI_Datatype type, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, counts, places, type, comm), \
    among_all(all_carry(comm, counts, type))) \
  X(Alltoall, Ialltoall, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, COUNT count, \
     MPI_Datatype type, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, count, type, comm), \
    among_all(carries(count, type))) \
  X(Alltoallv, Ialltoallv, \
    (const void* sent, const COUNT* sent_counts, const DISPLACEMENT* sent_places, \
     MPI_Datatype sent_type, void* received, const COUNT* counts, const DISPLACEMENT* places, \
     MPI_Datatype type, MPI_Comm comm), \
    (sent, sent_counts, sent_places, sent_type, received, counts, places, type, comm), \
    among_all(all_carry(comm, counts, type))) \
  X(Alltoallw, Ialltoallw, \
    (const void* sent, const COUNT* sent_counts, const DISPLACEMENT* sent_places, \
     const MPI_Datatype* sent_types, void* received, const COUNT* counts, \
     const DISPLACEMENT* places, const MPI_Datatype* types, MPI_Comm comm), \
    (sent, sent_counts, sent_places, sent_types, received, counts, places, types, comm), \
    among_all(all_carry(comm, counts, types))) \
  X(Reduce, Ireduce, \
    (const void* sent, void* received, COUNT count, MPI_Datatype type, MPI_Op op, int root, \
     MPI_Comm comm), \
    (sent, received, count, type, op, root, comm), \
    to_root(comm, root, [&] { return carries(count, type); })) \
  X(Allreduce, Iallreduce, \
    (const void* sent, void* received, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
    (sent, received, count, type, op, comm), \
    among_all(carries(count, type))) \
  X(Reduce_scatter, Ireduce_scatter, \
    (const void* sent, void* received, const COUNT* counts, MPI_Datatype type, MPI_Op op, \
     MPI_Comm comm), \
    (sent, received, counts, type, op, comm), \
    among_all(carries(counts[rank_in(comm)], type))) \
  X(Reduce_scatter_block, Ireduce_scatter_block, \
    (const void* sent, void* received, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
    (sent, received, count, type, op, comm), \
    among_all(carries(count, type)))

// The routines by which all ranks of a communicator make another one: name, parameters, arguments.
// MPI_Comm_idup and MPI_Comm_create_group are not among them, and their communicators have no
// number: the former's may not be used before its request is complete, and the latter need not be
// called by all ranks.
#define FOREBAY_COMM_MAKERS(X) \
  X(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made)) \
  X(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made), (comm, info, made)) \
  X(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made)) \
  X(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made)) \
  X(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm* made), \
    (comm, kind, key, info, made)) \
  X(Cart_create, \
    (MPI_Comm comm, int dimensions, const int* sizes, const int* periods, int reorder, \
     MPI_Comm* made), \
    (comm, dimensions, sizes, periods, reorder, made)) \
  X(Cart_sub, (MPI_Comm comm, const int* remain, MPI_Comm* made), (comm, remain, made)) \
  X(Graph_create, \
    (MPI_Comm comm, int nodes, const int* index, const int* edges, int reorder, MPI_Comm* made), \
    (comm, nodes, index, edges, reorder, made)) \
  X(Dist_graph_create, \
    (MPI_Comm comm, int nodes, const int* sources, const int* degrees, const int* targets, \
     const int* weights, MPI_Info info, int reorder, MPI_Comm* made), \
    (comm, nodes, sources, degrees, targets, weights, info, reorder, made)) \
  X(Dist_graph_create_adjacent, \
    (MPI_Comm comm, int in_degree, const int* sources, const int* source_weights, int out_degree, \
     const int* targets, const int* target_weights, MPI_Info info, int reorder, MPI_Comm* made), \
    (comm, in_degree, sources, source_weights, out_degree, targets, target_weights, info, \
     reorder, made))

// clang-format on

// Only the names of the tables' rows: each becomes FOREBAY_ROUTINE(name), which the user of the
// macros below defines.
#define FOREBAY_NAME(name, ...) FOREBAY_ROUTINE(name)
#define FOREBAY_NAME_OF_FILE(name, ...) FOREBAY_ROUTINE(File_##name)
#define FOREBAY_NAME_OF_FILE_C(name, ...) FOREBAY_ROUTINE(File_##name##_c)
#define FOREBAY_NAME_AND_TWIN(name, twin, ...) FOREBAY_ROUTINE(name) FOREBAY_ROUTINE(twin)
#define FOREBAY_NAME_AND_TWIN_C(name, twin, ...) FOREBAY_ROUTINE(name##_c) FOREBAY_ROUTINE(twin##_c)
#define FOREBAY_NO_NAME(...)

#define FOREBAY_NAMES_OF_DATA_ROUTINES                                                    \
  FOREBAY_DATA_ROUTINES(FOREBAY_NAME_OF_FILE, FOREBAY_NAME_OF_FILE, FOREBAY_NAME_OF_FILE, \
                        FOREBAY_NAME_OF_FILE, FOREBAY_NAME_OF_FILE, FOREBAY_NAME_OF_FILE, \
                        FOREBAY_NAME_OF_FILE)
#define FOREBAY_NAMES_OF_DATA_ROUTINES_C                                                        \
  FOREBAY_DATA_ROUTINES(FOREBAY_NAME_OF_FILE_C, FOREBAY_NAME_OF_FILE_C, FOREBAY_NAME_OF_FILE_C, \
                        FOREBAY_NAME_OF_FILE_C, FOREBAY_NAME_OF_FILE_C, FOREBAY_NAME_OF_FILE_C, \
                        FOREBAY_NO_NAME)

// Routines that not every MPI has: those of MPI 4.0 that Open MPI 5.0 lacks (FOREBAY_LARGE_COUNT:
// the header declares them), and those of MPI 4.1 (FOREBAY_STATUS_OF_MANY: likewise).
#if defined(FOREBAY_LARGE_COUNT)
#define FOREBAY_NAMES_OF_FILE_ROUTINES_C \
  FOREBAY_PASSED_ROUTINES_C(FOREBAY_NAME) FOREBAY_NAMES_OF_DATA_ROUTINES_C
#define FOREBAY_NAMES_OF_COLLECTIVES_C FOREBAY_COLLECTIVES(FOREBAY_NAME_AND_TWIN_C, , )
#else
#define FOREBAY_NAMES_OF_FILE_ROUTINES_C
#define FOREBAY_NAMES_OF_COLLECTIVES_C
#endif
#if defined(FOREBAY_STATUS_OF_MANY)
#define FOREBAY_NAMES_OF_STATUS_OF_MANY FOREBAY_STATUS_OF_MANY_ROUTINES(FOREBAY_NAME)
#else
#define FOREBAY_NAMES_OF_STATUS_OF_MANY
#endif

// The routines that every program is offered, and those that only a traced program is offered.
#define FOREBAY_ROUTINES                                                                  \
  FOREBAY_OWN_ROUTINES(FOREBAY_ROUTINE, FOREBAY_ROUTINE)                                  \
  FOREBAY_PASSED_ROUTINES(FOREBAY_NAME)                                                   \
  FOREBAY_FILE_ROUTINES(FOREBAY_NAME_OF_FILE, FOREBAY_NAME_OF_FILE, FOREBAY_NAME_OF_FILE) \
  FOREBAY_NAMES_OF_DATA_ROUTINES FOREBAY_NAMES_OF_FILE_ROUTINES_C
#define FOREBAY_ROUTINES_IF_TRACED               \
  FOREBAY_COMPLETING_ROUTINES(FOREBAY_NAME)      \
  FOREBAY_NAMES_OF_STATUS_OF_MANY                \
  FOREBAY_BARRIER(FOREBAY_NAME_AND_TWIN)         \
  FOREBAY_COLLECTIVES(FOREBAY_NAME_AND_TWIN, , ) \
  FOREBAY_NAMES_OF_COLLECTIVES_C FOREBAY_COMM_MAKERS(FOREBAY_NAME)

// The routines that are recorded. Those with large counts are included even if the library lacks
// them.
#define FOREBAY_RECORDED_ROUTINES                                                    \
  FOREBAY_OWN_ROUTINES(FOREBAY_NO_NAME, FOREBAY_ROUTINE)                             \
  FOREBAY_FILE_ROUTINES(FOREBAY_NO_NAME, FOREBAY_NAME_OF_FILE, FOREBAY_NAME_OF_FILE) \
  FOREBAY_NAMES_OF_DATA_ROUTINES FOREBAY_NAMES_OF_DATA_ROUTINES_C
