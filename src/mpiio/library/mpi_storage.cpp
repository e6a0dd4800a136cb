#include "mpiio/library/mpi_storage.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <mutex>

#include "mpiio/library/runs_type.h"

namespace forebay::mpiio {
namespace {

// Whether a list is written as one noncontiguous access. ROMIO writes just its requests. Open MPI 5
// sieves: it reads the bytes between them and writes them back, over what other processes write
// there.
#if defined(FOREBAY_ABI_OPENMPI)
constexpr bool writes_lists = false;
#else
constexpr bool writes_lists = true;
#endif

Status status_of(int code, int64_t offset) {
  if (code == MPI_SUCCESS) return {};
  int error_class = MPI_ERR_OTHER;
  mpi().Error_class(code, &error_class);
  switch (error_class) {
    case MPI_ERR_NO_SPACE:
      return {Code::no_space, 0, offset};
    case MPI_ERR_QUOTA:
      return {Code::quota, 0, offset};
    case MPI_ERR_ACCESS:
    case MPI_ERR_READ_ONLY:
      return {Code::access, 0, offset};
    case MPI_ERR_NO_SUCH_FILE:
      return {Code::no_such_file, 0, offset};
    case MPI_ERR_NO_MEM:
      return {Code::no_memory, 0, offset};
    default:
      return {Code::io, 0, offset};
  }
}

void add_segments(RunsType& memory, const Request& request) {
  for (const Segment& segment : request.segments) {
    memory.add(reinterpret_cast<MPI_Aint>(segment.memory), segment.length);
  }
}

class MpiStorage final : public Storage {
 public:
  explicit MpiStorage(MPI_File file) : file_(file) {}
  ~MpiStorage() override { mpi().File_close(&file_); }

  Status size(int64_t* bytes) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    MPI_Offset found = 0;
    const int code = mpi().File_get_size(file_, &found);
    *bytes = static_cast<int64_t>(found);
    return status_of(code, -1);
  }

  // A failed sync may have lost bytes, and a later sync may succeed without them. So the failure is
  // kept.
  Status flush() override {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (flushed_.ok()) flushed_ = status_of(mpi().File_sync(file_), -1);
    return flushed_;
  }

 private:
  // The library's calls are carried out by the thread that submits them.
  void start(Transfer& transfer) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (transfer.direction() == Transfer::Direction::read) return read_each(transfer);
    if (writes_lists && transfer.requests().size() > 1) return write_list(transfer);
    write_each(transfer);
  }

  void write_each(Transfer& transfer) {
    const Status viewed = status_of(view_bytes(), -1);
    for (std::size_t r = 0; r < transfer.requests().size(); ++r) {
      const Request& request = transfer.requests()[r];
      Transfer::Outcome& outcome = transfer.outcome(r);
      outcome.status = viewed;
      if (!viewed.ok()) continue;
      RunsType memory_runs;
      add_segments(memory_runs, request);
      const int code = mpi().File_write_at(file_, request.offset, MPI_BOTTOM, 1, memory_runs.make(),
                                           MPI_STATUS_IGNORE);
      outcome.status = status_of(code, request.offset);
      if (outcome.status.ok()) outcome.transferred = length_of(request);
      outcome.syscalls = 1;  // counts calls of the library, whatever it makes of them
    }
  }

  // Reads one request at a time: the bytes that each transferred tell where the file ends. After a
  // failure nothing more is read.
  void read_each(Transfer& transfer) {
    Status status = status_of(view_bytes(), -1);
    for (std::size_t r = 0; r < transfer.requests().size(); ++r) {
      if (status.ok())
        transfer.outcome(r) = read_one(transfer.requests()[r]);
      else
        transfer.outcome(r).status = status;
      status = transfer.outcome(r).status;
    }
  }

  Transfer::Outcome read_one(const Request& request) {
    RunsType memory_runs;
    add_segments(memory_runs, request);
    MPI_Status status;
    const int code =
        mpi().File_read_at(file_, request.offset, MPI_BOTTOM, 1, memory_runs.make(), &status);
    Transfer::Outcome outcome{status_of(code, request.offset), 0, 1};
    MPI_Count bytes = 0;
    if (outcome.status.ok() && mpi().Get_elements_x(&status, mpi().byte, &bytes) == MPI_SUCCESS) {
      // Some libraries count bytes beyond the end of the file, too.
      MPI_Offset end = 0;
      mpi().File_get_size(file_, &end);
      outcome.transferred = std::clamp<int64_t>(end - request.offset, 0, bytes);
    }
    return outcome;
  }

  // Writes all requests in one call, through a view that consists of their extents.
  void write_list(Transfer& transfer) {
    RunsType file_runs, memory_runs;
    for (const Request& request : transfer.requests()) {
      file_runs.add(static_cast<MPI_Aint>(request.offset), length_of(request));
      add_segments(memory_runs, request);
    }
    bytes_viewed_ = false;
    int code =
        mpi().File_set_view(file_, 0, mpi().byte, file_runs.make(), "native", mpi().info_null);
    if (code == MPI_SUCCESS) {
      code = mpi().File_write_at(file_, 0, MPI_BOTTOM, 1, memory_runs.make(), MPI_STATUS_IGNORE);
    }
    const Status status = status_of(code, transfer.requests().front().offset);
    for (std::size_t r = 0; r < transfer.requests().size(); ++r) {
      transfer.outcome(r).status = status;
      if (status.ok()) transfer.outcome(r).transferred = length_of(transfer.requests()[r]);
    }
    transfer.outcome(0).syscalls = 1;
  }

  int view_bytes() {
    if (bytes_viewed_) return MPI_SUCCESS;
    const int code =
        mpi().File_set_view(file_, 0, mpi().byte, mpi().byte, "native", mpi().info_null);
    bytes_viewed_ = code == MPI_SUCCESS;
    return code;
  }

  MPI_File file_;
  bool bytes_viewed_ = true;  // the view is of bytes, as when a file is opened
  Status flushed_;
  std::mutex mutex_;
};

// The user's hints, but without data sieving: so a commit does not read in order to write, and
// takes no lock.
MPI_Info without_sieving(MPI_Info users) {
  MPI_Info info = mpi().info_null;
  if (users == mpi().info_null) {
    mpi().Info_create(&info);
  } else {
    mpi().Info_dup(users, &info);
  }
  mpi().Info_set(info, "romio_ds_write", "disable");
  return info;
}

}  // namespace

OpenedStorage open_mpi_storage(const std::string& name, bool readable, bool writable,
                               MPI_Info users) {
  MPI_Info info = without_sieving(users);
  int amode = MPI_MODE_RDONLY;
  if (writable) amode = readable ? MPI_MODE_RDWR : MPI_MODE_WRONLY;
  MPI_File file = mpi().file_null;
  const int code = mpi().File_open(mpi().comm_self, name.c_str(), amode, info, &file);
  mpi().Info_free(&info);
  if (code != MPI_SUCCESS) return {nullptr, status_of(code, -1)};
  mpi().File_set_errhandler(file, mpi().errors_return);
  return {std::make_unique<MpiStorage>(file), {}};
}

}  // namespace forebay::mpiio
