#include "mpiio/file/owners_parts.h"

#include <algorithm>
#include <limits>

#include "mpiio/file/job_directory.h"
#include "mpiio/library/agreement.h"

namespace forebay::mpiio {

void note_region(const Handle& handle, const Call& access, AccessFacts* facts) {
  MPI_Count type_bytes = 0;
  const View& view = handle.view;
  const bool placed =
      access.positioning == Positioning::given || access.positioning == Positioning::individual;
  if (!placed || view.empty() || handle.pass_through != cached_mode) return;
  if (mpi().Type_size_x(access.type, &type_bytes) != MPI_SUCCESS) return;
  int64_t position = handle.position, bytes = 0, last = 0;
  const bool given = access.positioning == Positioning::given;
  if (given && __builtin_mul_overflow(access.offset, view.etype_bytes(), &position)) return;
  if (__builtin_mul_overflow(access.count, int64_t{type_bytes}, &bytes) || bytes <= 0) return;
  if (position < 0 || __builtin_add_overflow(position, bytes - 1, &last)) return;
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t end = view.offset_of(last);
  if (end == most) return;
  facts->minus_begin = -view.offset_of(position);
  facts->end = end + 1;
  facts->bytes = bytes;
}

namespace {

// Gives the owners their next parts. False: they keep those that they have. The ranks hold the
// handle's lock from here on, so that no thread uses the file meanwhile.
bool change_together(Handle& handle, const FileDomains& domains) {
  const HandleLock lock(handle);
  const MPI_Comm comm = handle.own.comm;
  Status status = handle.job_file->prepare_change(domains);
  if (any_rank(comm, !status.ok())) return false;
  if (handle.first_on_node) status = handle.job_file->commit_for_change();
  if (any_rank(comm, !status.ok())) return false;
  handle.job_file->change();
  handle.region_parts->note_change(domains);
  return true;
}

}  // namespace

void change_parts(Handle& handle, const AccessFacts& agreed) {
  if (agreed.end == INT64_MIN) return;
  const int64_t begin = -agreed.minus_begin;
  int64_t bytes = 0;  // of all ranks, at most
  if (__builtin_mul_overflow(agreed.bytes, int64_t{handle.ranks}, &bytes)) return;
  const std::optional<FileDomains> domains =
      handle.region_parts->change({begin, agreed.end - begin}, bytes);
  if (!domains) return;
  const bool begun = handle.rank == 0 && handle.enrolled->begin_change();
  if (!any_rank(handle.own.comm, begun)) return;
  (void)change_together(handle, *domains);
  wait_for_all(handle.own.comm);  // all nodes know the owners by their next parts
  if (handle.rank != 0) return;
  const Status told =
      within_memory([&] { return handle.enrolled->change_owners(handle.job_file->owners()); });
  if (!told.ok()) lose_directory();
}

}  // namespace forebay::mpiio
