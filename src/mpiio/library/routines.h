// The data access routines of MPI 4.1, table 14.1, once: entry points, the table handed to the
// preload and the calls into the library are generated from this list.
//
// Each row names a routine without "MPI_File_", whether it reads or writes, whose position it uses,
// and whether it is collective (`together`) or independent (`alone`). The macros passed in say by
// their place which parameters the routine has:
//   BLOCKING_AT      (file, offset, buffer, count, type, status)
//   BLOCKING         (file, buffer, count, type, status)
//   NONBLOCKING_AT   (file, offset, buffer, count, type, request)
//   NONBLOCKING      (file, buffer, count, type, request)
//   BEGIN_AT         (file, offset, buffer, count, type)
//   BEGIN            (file, buffer, count, type)
//   END              (file, buffer, status)
// All but END have a large-count twin with "_c" appended.
#pragma once

#define FOREBAY_DATA_ROUTINES(BLOCKING_AT, BLOCKING, NONBLOCKING_AT, NONBLOCKING, BEGIN_AT, BEGIN, \
                              END)                                                                 \
  BLOCKING_AT(read_at, read, given, alone)                                                         \
  BLOCKING_AT(write_at, write, given, alone)                                                       \
  BLOCKING_AT(read_at_all, read, given, together)                                                  \
  BLOCKING_AT(write_at_all, write, given, together)                                                \
  BLOCKING(read, read, individual, alone)                                                          \
  BLOCKING(write, write, individual, alone)                                                        \
  BLOCKING(read_all, read, individual, together)                                                   \
  BLOCKING(write_all, write, individual, together)                                                 \
  BLOCKING(read_shared, read, shared, alone)                                                       \
  BLOCKING(write_shared, write, shared, alone)                                                     \
  BLOCKING(read_ordered, read, ordered, together)                                                  \
  BLOCKING(write_ordered, write, ordered, together)                                                \
  NONBLOCKING_AT(iread_at, read, given, alone)                                                     \
  NONBLOCKING_AT(iwrite_at, write, given, alone)                                                   \
  NONBLOCKING_AT(iread_at_all, read, given, together)                                              \
  NONBLOCKING_AT(iwrite_at_all, write, given, together)                                            \
  NONBLOCKING(iread, read, individual, alone)                                                      \
  NONBLOCKING(iwrite, write, individual, alone)                                                    \
  NONBLOCKING(iread_all, read, individual, together)                                               \
  NONBLOCKING(iwrite_all, write, individual, together)                                             \
  NONBLOCKING(iread_shared, read, shared, alone)                                                   \
  NONBLOCKING(iwrite_shared, write, shared, alone)                                                 \
  BEGIN_AT(read_at_all_begin, read, given, together)                                               \
  BEGIN_AT(write_at_all_begin, write, given, together)                                             \
  BEGIN(read_all_begin, read, individual, together)                                                \
  BEGIN(write_all_begin, write, individual, together)                                              \
  BEGIN(read_ordered_begin, read, ordered, together)                                               \
  BEGIN(write_ordered_begin, write, ordered, together)                                             \
  END(read_at_all_end, read, given, together)                                                      \
  END(write_at_all_end, write, given, together)                                                    \
  END(read_all_end, read, individual, together)                                                    \
  END(write_all_end, write, individual, together)                                                  \
  END(read_ordered_end, read, ordered, together)                                                   \
  END(write_ordered_end, write, ordered, together)

// The same where the parameters do not matter, and those that have a large-count twin.
#define FOREBAY_EVERY_DATA_ROUTINE(X) FOREBAY_DATA_ROUTINES(X, X, X, X, X, X, X)
#define FOREBAY_NO_TWIN(name, op, position, group)
#define FOREBAY_EVERY_DATA_ROUTINE_C(X) FOREBAY_DATA_ROUTINES(X, X, X, X, X, X, FOREBAY_NO_TWIN)
