#include "file_operations.h"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "hints.h"

namespace random_io {
namespace {

void make_alias(const Rank& rank, int file, int alias) {
  const std::string name = rank.path(file, alias);
  if (alias == 0 || access(name.c_str(), F_OK) == 0) return;
  const std::string original = rank.path(file, 0);
  const std::string target = original.substr(original.rfind('/') + 1);
  const int failed =
      alias == 1 ? link(original.c_str(), name.c_str()) : symlink(target.c_str(), name.c_str());
  if (failed != 0) std::perror(name.c_str());
}

void remove_aliases(const Rank& rank, int file) {
  for (int alias = 1; alias < kAliases; ++alias) unlink(rank.path(file, alias).c_str());
}

}  // namespace

int mpi_mode(int64_t mode) {
  static constexpr int kBits[] = {MPI_MODE_RDONLY,          MPI_MODE_WRONLY,     MPI_MODE_RDWR,
                                  MPI_MODE_CREATE,          MPI_MODE_EXCL,       MPI_MODE_APPEND,
                                  MPI_MODE_DELETE_ON_CLOSE, MPI_MODE_UNIQUE_OPEN};
  int bits = 0;
  for (int bit = 0; bit < 8; ++bit) {
    if ((mode >> bit & 1) != 0) bits |= kBits[bit];
  }
  return bits;
}

int mpi_whence(int64_t whence) {
  static constexpr int kWhence[] = {MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END};
  return kWhence[whence];
}

void open_file(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  if (rank.number() == 0) make_alias(rank, operation.file, operation.alias);
  if (operation.alias != 0) MPI_Barrier(MPI_COMM_WORLD);
  if (!rank.among(operation.members)) return;
  MPI_Info info = make_hints(operation.hints, rank.features.enabled("data_sieving_writes"));
  MPI_File& file = rank.file(operation.slot);
  const int code = MPI_File_open(rank.communicators.of(operation.members),
                                 rank.path(operation.file, operation.alias).c_str(),
                                 mpi_mode(operation.mode), info, &file);
  free_hints(info);
  rank.outcomes.expect(planned, code, "MPI_File_open");
  if (planned.refused) {
    file = MPI_FILE_NULL;
    return;
  }
  MPI_Offset position = -1;
  rank.outcomes.expect(planned, MPI_File_get_position(file, &position), "MPI_File_get_position");
  if (position != planned.expected) {
    rank.report.fail(planned, "the individual pointer starts at " + std::to_string(position) +
                                  ", expected " + std::to_string(planned.expected));
  }
}

void close_file(Rank& rank, const Planned& planned) {
  MPI_File& file = rank.file(planned.operation.slot);
  const int index = planned.operation.file;
  bool failed = false;
  if (file != MPI_FILE_NULL) {
    failed = !rank.outcomes.expect(planned, MPI_File_close(&file), "MPI_File_close");
    if (planned.may_fail) {
      rank.outcomes.failed_on_all(planned, rank.communicators.of(planned.operation.members),
                                  failed);
    }
  }
  file = MPI_FILE_NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  if (planned.may_fail && rank.outcomes.failed_on_any(failed)) {
    rank.planner.keep_unstored(index);
    if (rank.settings.history != nullptr) rank.settings.history->note_kept(index);
  }
  if (rank.number() == 0 && !rank.planner.file(index).exists) {
    if (access(rank.path(index, 0).c_str(), F_OK) == 0) {
      rank.report.fail(planned, "DELETE_ON_CLOSE left the file behind");
    }
    remove_aliases(rank, index);
  }
}

void delete_file(Rank& rank, const Planned& planned) {
  if (rank.number() != 0) return;
  const int file = planned.operation.file;
  rank.outcomes.expect(planned, MPI_File_delete(rank.path(file, 0).c_str(), MPI_INFO_NULL),
                       "MPI_File_delete");
  remove_aliases(rank, file);
}

void set_view(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  const Part& part = *rank.part(planned);
  const bool large = operation.large != 0;
  const MPI_Datatype etype = make_handle(*operation.etype, large);
  const MPI_Datatype file_type = make_handle(*part.file_type, large);
  rank.outcomes.expect(planned,
                       MPI_File_set_view(rank.file(operation.slot), part.displacement, etype,
                                         file_type, "native", MPI_INFO_NULL),
                       "MPI_File_set_view");
  free_handle(*operation.etype, etype);
  free_handle(*part.file_type, file_type);
}

void set_atomicity(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  rank.outcomes.expect(planned,
                       MPI_File_set_atomicity(rank.file(operation.slot), operation.mode != 0),
                       "MPI_File_set_atomicity");
}

void set_hints(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  MPI_Info info = make_hints(operation.hints, rank.features.enabled("data_sieving_writes"));
  if (info != MPI_INFO_NULL) {
    rank.outcomes.expect(planned, MPI_File_set_info(rank.file(operation.slot), info),
                         "MPI_File_set_info");
  }
  free_hints(info);
}

void change_size(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  MPI_File file = rank.file(operation.slot);
  if (!rank.features.enabled("posix_visibility")) sync_everywhere(rank, planned, operation.file);
  if (file == MPI_FILE_NULL) return;
  if (operation.name == "set_size") {
    const int code = MPI_File_set_size(file, operation.value);
    if (!rank.outcomes.expect(planned, code, "MPI_File_set_size")) {
      rank.report.fail(planned, "set_size needs no storage");
    }
  } else {
    rank.outcomes.expect(planned, MPI_File_preallocate(file, operation.value),
                         "MPI_File_preallocate");
  }
}

void seek(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  rank.outcomes.expect(planned,
                       MPI_File_seek(rank.file(operation.slot), rank.part(planned)->offset,
                                     mpi_whence(operation.mode)),
                       "MPI_File_seek");
}

void seek_shared(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  MPI_File file = rank.file(operation.slot);
  if (file == MPI_FILE_NULL) return;
  rank.outcomes.expect(planned,
                       MPI_File_seek_shared(file, operation.value, mpi_whence(operation.mode)),
                       "MPI_File_seek_shared");
  MPI_Offset position = -1;
  rank.outcomes.expect(planned, MPI_File_get_position_shared(file, &position),
                       "MPI_File_get_position_shared");
  if (position != planned.expected) {
    rank.report.fail(planned, "the shared pointer is at " + std::to_string(position) +
                                  ", expected " + std::to_string(planned.expected));
  }
}

void sync_file(Rank& rank, const Planned& planned) {
  const Handle& handle = rank.planner.handle(planned.operation.slot);
  const int code = MPI_File_sync(rank.file(planned.operation.slot));
  if (!handle.writable()) return;
  const bool failed = !rank.outcomes.expect(planned, code, "MPI_File_sync");
  if (planned.may_fail) {
    rank.outcomes.failed_on_all(planned, rank.communicators.of(handle.members), failed);
  }
}

void sync_everywhere(Rank& rank, const Planned& planned, int file) {
  for (int round = 0; round < 2; ++round) {
    for (int slot = 0; slot < kSlots; ++slot) {
      const Handle& handle = rank.planner.handle(slot);
      if (rank.file(slot) == MPI_FILE_NULL || handle.file != file) continue;
      const int code = MPI_File_sync(rank.file(slot));
      if (handle.writable()) rank.outcomes.succeeded(planned, code, "MPI_File_sync");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void write_externally(Rank& rank, const Planned& planned) {
  const Operation& operation = planned.operation;
  sync_everywhere(rank, planned, operation.file);
  if (rank.number() == 0) {
    std::vector<std::byte> data(static_cast<std::size_t>(operation.length));
    fill_values(planned.mine->id, 0, operation.length, data.data());
    const int descriptor = ::open(rank.path(operation.file, 0).c_str(), O_WRONLY);
    const ssize_t written = pwrite(descriptor, data.data(), data.size(), operation.value);
    if (written != static_cast<ssize_t>(data.size())) rank.report.fail(planned, "pwrite failed");
    ::close(descriptor);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  sync_everywhere(rank, planned, operation.file);
}

}  // namespace random_io
