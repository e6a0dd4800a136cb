// The table of routines. The macros spell out MPI's four families of argument lists.
#include "routines.h"

#if MPI_VERSION >= 4
#define RANDOM_IO_EITHER(routine, before, count, after)                               \
  (c.large                                                                            \
       ? MPI_File_##routine##_c(RANDOM_IO_OPEN before, (count), RANDOM_IO_OPEN after) \
       : MPI_File_##routine(RANDOM_IO_OPEN before, static_cast<int>(count), RANDOM_IO_OPEN after))
#else
#define RANDOM_IO_EITHER(routine, before, count, after) \
  MPI_File_##routine(RANDOM_IO_OPEN before, static_cast<int>(count), RANDOM_IO_OPEN after)
#endif
#define RANDOM_IO_OPEN(...) __VA_ARGS__

#define RANDOM_IO_AT(routine, last)                                                \
  [](const Call& c) {                                                              \
    return RANDOM_IO_EITHER(routine, (c.file, c.offset, c.buffer), c.count, last); \
  }
#define RANDOM_IO_HERE(routine, last) \
  [](const Call& c) { return RANDOM_IO_EITHER(routine, (c.file, c.buffer), c.count, last); }
#define RANDOM_IO_END(routine) \
  [](const Call& c) { return MPI_File_##routine##_end(c.file, c.buffer, c.status); }

namespace random_io {
namespace {

constexpr auto kAt = Position::explicit_offset;
constexpr auto kMine = Position::individual_pointer;
constexpr auto kShared = Position::shared_pointer;
constexpr auto kBlocking = Completion::blocking;
constexpr auto kNonblocking = Completion::nonblocking;
constexpr auto kSplit = Completion::split;

// clang-format off
#define RANDOM_IO_ROWS(verb, w)                                                                               \
  {#verb "_at", w, kAt, false, false, kBlocking, RANDOM_IO_AT(verb##_at, (c.type, c.status)), nullptr},       \
  {#verb "_at_all", w, kAt, true, false, kBlocking, RANDOM_IO_AT(verb##_at_all, (c.type, c.status)), nullptr}, \
  {"i" #verb "_at", w, kAt, false, false, kNonblocking, RANDOM_IO_AT(i##verb##_at, (c.type, c.request)), nullptr}, \
  {"i" #verb "_at_all", w, kAt, true, false, kNonblocking, RANDOM_IO_AT(i##verb##_at_all, (c.type, c.request)), nullptr}, \
  {#verb "_at_all_begin", w, kAt, true, false, kSplit, RANDOM_IO_AT(verb##_at_all_begin, (c.type)), RANDOM_IO_END(verb##_at_all)}, \
  {#verb, w, kMine, false, false, kBlocking, RANDOM_IO_HERE(verb, (c.type, c.status)), nullptr},              \
  {#verb "_all", w, kMine, true, false, kBlocking, RANDOM_IO_HERE(verb##_all, (c.type, c.status)), nullptr},  \
  {"i" #verb, w, kMine, false, false, kNonblocking, RANDOM_IO_HERE(i##verb, (c.type, c.request)), nullptr},   \
  {"i" #verb "_all", w, kMine, true, false, kNonblocking, RANDOM_IO_HERE(i##verb##_all, (c.type, c.request)), nullptr}, \
  {#verb "_all_begin", w, kMine, true, false, kSplit, RANDOM_IO_HERE(verb##_all_begin, (c.type)), RANDOM_IO_END(verb##_all)}, \
  {#verb "_shared", w, kShared, false, false, kBlocking, RANDOM_IO_HERE(verb##_shared, (c.type, c.status)), nullptr}, \
  {"i" #verb "_shared", w, kShared, false, false, kNonblocking, RANDOM_IO_HERE(i##verb##_shared, (c.type, c.request)), nullptr}, \
  {#verb "_ordered", w, kShared, true, true, kBlocking, RANDOM_IO_HERE(verb##_ordered, (c.type, c.status)), nullptr}, \
  {#verb "_ordered_begin", w, kShared, true, true, kSplit, RANDOM_IO_HERE(verb##_ordered_begin, (c.type)), RANDOM_IO_END(verb##_ordered)}

const Routine kRoutines[] = {RANDOM_IO_ROWS(read, false), RANDOM_IO_ROWS(write, true)};
// clang-format on

}  // namespace

std::span<const Routine> routines() { return kRoutines; }

const Routine* find_routine(std::string_view name) {
  for (const Routine& routine : kRoutines) {
    if (name == routine.name) return &routine;
  }
  return nullptr;
}

}  // namespace random_io
