// The data access routines of MPI 4.1, table 14.1, once: entry points, the table handed to the
// preload and the calls into the library are generated from this list.
//
// Each row names a routine without "MPI_File_", whether it reads or writes, and whose position it
// uses. The macros passed in say by their place which parameters the routine has:
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
  BLOCKING_AT(read_at, read, given)                                                                \
  BLOCKING_AT(write_at, write, given)                                                              \
  BLOCKING_AT(read_at_all, read, given)                                                            \
  BLOCKING_AT(write_at_all, write, given)                                                          \
  BLOCKING(read, read, individual)                                                                 \
  BLOCKING(write, write, individual)                                                               \
  BLOCKING(read_all, read, individual)                                                             \
  BLOCKING(write_all, write, individual)                                                           \
  BLOCKING(read_shared, read, shared)                                                              \
  BLOCKING(write_shared, write, shared)                                                            \
  BLOCKING(read_ordered, read, ordered)                                                            \
  BLOCKING(write_ordered, write, ordered)                                                          \
  NONBLOCKING_AT(iread_at, read, given)                                                            \
  NONBLOCKING_AT(iwrite_at, write, given)                                                          \
  NONBLOCKING_AT(iread_at_all, read, given)                                                        \
  NONBLOCKING_AT(iwrite_at_all, write, given)                                                      \
  NONBLOCKING(iread, read, individual)                                                             \
  NONBLOCKING(iwrite, write, individual)                                                           \
  NONBLOCKING(iread_all, read, individual)                                                         \
  NONBLOCKING(iwrite_all, write, individual)                                                       \
  NONBLOCKING(iread_shared, read, shared)                                                          \
  NONBLOCKING(iwrite_shared, write, shared)                                                        \
  BEGIN_AT(read_at_all_begin, read, given)                                                         \
  BEGIN_AT(write_at_all_begin, write, given)                                                       \
  BEGIN(read_all_begin, read, individual)                                                          \
  BEGIN(write_all_begin, write, individual)                                                        \
  BEGIN(read_ordered_begin, read, ordered)                                                         \
  BEGIN(write_ordered_begin, write, ordered)                                                       \
  END(read_at_all_end, read, given)                                                                \
  END(write_at_all_end, write, given)                                                              \
  END(read_all_end, read, individual)                                                              \
  END(write_all_end, write, individual)                                                            \
  END(read_ordered_end, read, ordered)                                                             \
  END(write_ordered_end, write, ordered)
