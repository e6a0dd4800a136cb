#include "verification.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace random_io {
namespace {

// The number of bytes the transfer has moved, by its status.
int64_t verify_count(const Rank& rank, const Planned& planned, const Part& part,
                     const MPI_Status& status, SizeRange size) {
  const Transfer& transfer = *planned.mine;
  int transferred = -1;
  MPI_Get_count(&status, MPI_BYTE, &transferred);
  int64_t low = transfer.bytes, high = transfer.bytes;
  if (!transfer.write) {
    low = high = 0;
    for (const Piece& piece : transfer.pieces) {
      low += std::clamp<int64_t>(size.low - piece.offset, 0, piece.length);
      high += std::clamp<int64_t>(size.high - piece.offset, 0, piece.length);
    }
  }
  if (!rank.features.enabled("exact_counts")) {
    if (transferred == transfer.bytes || low < transfer.bytes)
      return std::min<int64_t>(low, transferred);
  }
  if (transferred < low || transferred > high) {
    rank.report.fail(planned, "the status says " + std::to_string(transferred) +
                                  " bytes, expected " + std::to_string(low) +
                                  (low == high ? "" : " to " + std::to_string(high)));
  }
  int count = -1, elements = -1;
  const MPI_Datatype type = make_handle(*part.memory, false);
  MPI_Get_count(&status, type, &count);
  if (rank.features.enabled("get_elements")) MPI_Get_elements(&status, type, &elements);
  free_handle(*part.memory, type);
  const bool whole = transferred % part.memory->size == 0;
  const int64_t wanted = whole ? transferred / part.memory->size : int64_t{MPI_UNDEFINED};
  if (count != wanted) {
    rank.report.fail(planned, "MPI_Get_count gave " + std::to_string(count) + ", expected " +
                                  std::to_string(wanted));
  }
  if (rank.features.enabled("get_elements") && transferred % part.memory->base_size == 0 &&
      elements != transferred / part.memory->base_size) {
    rank.report.fail(planned, "MPI_Get_elements gave " + std::to_string(elements) + ", expected " +
                                  std::to_string(transferred / part.memory->base_size));
  }
  return transferred;
}

// After a read that met the end of the file, the pointer may be after the requested or after the
// transferred bytes. The schedule continues from the former.
void repair_pointer(Rank& rank, const Planned& planned, int64_t transferred) {
  const Transfer& transfer = *planned.mine;
  const int64_t unit = planned.view.etype->size;
  MPI_File file = rank.file(planned.operation.slot);
  MPI_Offset position = -1;
  rank.outcomes.expect(planned, MPI_File_get_position(file, &position), "MPI_File_get_position");
  const int64_t low = transfer.etypes + transferred / unit;
  const int64_t high = transfer.etypes + transfer.bytes / unit;
  const bool legal = position == high || position == low;
  if (!legal && rank.features.enabled("exact_counts")) {
    rank.report.fail(planned, "after a read that met the end of the file the pointer is at " +
                                  std::to_string(position) + ", expected " + std::to_string(low) +
                                  " or " + std::to_string(high));
  }
  rank.outcomes.expect(planned, MPI_File_seek(file, high, MPI_SEEK_SET), "MPI_File_seek");
}

}  // namespace

void verify_transfer(Rank& rank, const Planned& planned, const Part& part, Buffer& buffer,
                     const MPI_Status& status) {
  const Transfer& transfer = *planned.mine;
  const int file = rank.planner.handle(planned.operation.slot).file;
  const FileModel& model = rank.planner.file(file);
  const SizeRange size = model.size_seen(transfer.actor, transfer.start, transfer.end);
  const int64_t transferred = verify_count(rank, planned, part, status, size);
  if (transfer.write) return;
  const std::vector<std::byte> data = buffer.take_data();
  if (const auto mismatch = model.check(transfer, data.data(), transferred)) {
    const auto at = static_cast<std::size_t>(mismatch->position);
    rank.report.fail_bytes(planned, file, *mismatch, data.data() + at,
                           transferred - mismatch->position);
  }
  if (!buffer.gaps_intact()) {
    rank.report.fail(planned, "the read changed memory outside the memory type");
  }
  const Routine& routine = *find_routine(planned.operation.name);
  if (routine.position == Position::individual_pointer &&
      routine.completion == Completion::blocking && transfer.high > size.low) {
    repair_pointer(rank, planned, transferred);
  }
}

void compare_file(const Rank& rank, const Planned& planned, int file) {
  const FileModel& model = rank.planner.file(file);
  if (rank.number() != 0 || !model.exists) return;
  const int descriptor = ::open(rank.path(file, 0).c_str(), O_RDONLY);
  // Where nodes have clients of the file system, this node's kernel may keep what it has read.
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  struct statx information = {};
  if (descriptor < 0 ||
      statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &information) != 0) {
    rank.report.fail(planned, "the file is gone");
  }
  const auto size = static_cast<int64_t>(information.stx_size);
  if (size < model.least_size() || size > model.settled_size()) {
    rank.report.fail(planned, "the file has " + std::to_string(size) + " bytes, expected " +
                                  std::to_string(model.least_size()) + " to " +
                                  std::to_string(model.settled_size()));
  }
  std::vector<std::byte> data(static_cast<std::size_t>(size));
  const ssize_t got = pread(descriptor, data.data(), data.size(), 0);
  ::close(descriptor);
  if (got != size) rank.report.fail(planned, "the file cannot be read");
  if (const auto mismatch = model.check_settled(0, got, data.data())) {
    rank.report.fail_bytes(planned, file, *mismatch, data.data() + mismatch->position,
                           got - mismatch->position);
  }
}

}  // namespace random_io
