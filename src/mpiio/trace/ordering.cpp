#include "mpiio/trace/ordering.h"

#include <sys/random.h>

#include <atomic>
#include <memory>
#include <new>

#include "mpiio/library/comm_attribute.h"
#include "mpiio/trace/followed_requests.h"
#include "mpiio/trace/tracing.h"

namespace forebay::mpiio {

namespace {

// What is known of a communicator whose identity all of its ranks know.
struct Numbered {
  uint64_t identity = 0;
  uint32_t number = 0;                // in this process, from 1 on
  std::atomic<uint64_t> calls{0};     // collectives on it
  std::atomic<uint64_t> children{0};  // communicators made of it
  std::atomic<bool> counts{true};     // false: its counts may differ from those of other ranks
};

// splitmix64's finaliser.
uint64_t mixed(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

Numbered* numbered(MPI_Comm comm) { return CommAttribute<Numbered>::of(comm); }

// Gives the communicator an identity and a number; without memory it has none.
void number(MPI_Comm comm, uint64_t identity) {
  static std::atomic<uint32_t> last{0};
  std::unique_ptr<Numbered> made(new (std::nothrow) Numbered);
  if (made == nullptr) return;
  made->identity = identity;
  made->number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  CommAttribute<Numbered>::attach(comm, std::move(made));
}

// The rank in MPI_COMM_WORLD of the communicator's first member. Communicators that were made by
// one call differ in it.
int first_member(MPI_Comm comm) {
  MPI_Group members{}, world{};
  mpi().Comm_group(comm, &members);
  mpi().Comm_group(mpi().comm_world, &world);
  const int first = 0;
  int in_world = 0;
  mpi().Group_translate_ranks(members, 1, &first, world, &in_world);
  mpi().Group_free(&members);
  mpi().Group_free(&world);
  return in_world;
}

Routine routine_of(Part part) {
  switch (part) {
    case Part::releases:
      return Routine::release;
    case Part::acquires:
      return Routine::acquire;
    default:
      return Routine::exchange;
  }
}

}  // namespace

void begin_ordering() {
  int64_t identity = 0;
  if (rank_in(mpi().comm_world) == 0 &&
      getrandom(&identity, sizeof identity, 0) != static_cast<ssize_t>(sizeof identity))
    identity = runtime::trace_ticks();
  mpi().Bcast(&identity, 1, mpi().int64, 0, mpi().comm_world);
  number(mpi().comm_world, static_cast<uint64_t>(identity));
}

bool carries(int64_t count, MPI_Datatype type) {
  MPI_Count size = 0;
  return count > 0 && mpi().Type_size_x(type, &size) == MPI_SUCCESS && size > 0;
}

Meeting next_meeting(MPI_Comm comm) {
  Numbered* const known = numbered(comm);
  if (known == nullptr) return {};
  const uint64_t call = known->calls.fetch_add(1, std::memory_order_relaxed);
  if (!known->counts.load(std::memory_order_relaxed)) return {};
  return {known->identity + call, known->number};
}

void lose_count(MPI_Comm comm, int code) {
  int error_class = MPI_ERR_COMM;
  mpi().Error_class(code, &error_class);
  if (error_class == MPI_ERR_COMM || comm == mpi().comm_null) return;  // `comm` is no communicator
  if (Numbered* const known = numbered(comm)) known->counts.store(false, std::memory_order_relaxed);
}

void record_part(const Meeting& meeting, Part part, int64_t start_ticks) {
  if (part == Part::none || !runtime::tracing.load(std::memory_order_relaxed)) return;
  trace::Access record;
  record.routine = static_cast<uint8_t>(routine_of(part));
  record.file = trace::first_communicator + meeting.comm;
  record.position = static_cast<int64_t>(meeting.key);
  record.start_ns = start_ticks;
  record.end_ns = record.completed_ns = runtime::trace_ticks();
  runtime::trace_access(record);
}

void record_part(const Meeting& meeting, Part part, int64_t start_ticks, MPI_Request request) {
  if (part == Part::releases || part == Part::exchanges)
    record_part(meeting, Part::releases, start_ticks);
  if (part == Part::acquires || part == Part::exchanges) follow_meeting(request, meeting);
}

void descend(MPI_Comm parent, MPI_Comm child) {
  Numbered* const known = numbered(parent);
  if (known == nullptr) return;
  const uint64_t call = known->children.fetch_add(1, std::memory_order_relaxed);
  if (child == mpi().comm_null || !known->counts.load(std::memory_order_relaxed)) return;
  const auto member = static_cast<uint64_t>(first_member(child));
  number(child, mixed(mixed(known->identity + call + 1) + member));
}

}  // namespace forebay::mpiio
