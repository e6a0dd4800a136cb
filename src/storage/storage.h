// Where committed bytes are stored: a queue to which transfers are submitted, and where they are
// completed. There is one file per storage, and one line in storages(). Implementations: the real
// file (posix), the MPI library's own file (mpi), and a faulty one in virtual time, in tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "extent/status.h"
#include "storage/system_calls.h"
#include "storage/transfer.h"

namespace forebay {

// Thread rule: any member from any thread.
class Storage {
 public:
  virtual ~Storage() = default;

  // Begins a transfer. Its requests may be carried out at once, meanwhile (concurrently, if that
  // helps), or within complete(). It keeps no other transfer from being submitted.
  void submit(Transfer& transfer);
  // Waits until all requests of a submitted transfer have ended. Returns the first failure, with
  // its offset; the other requests were still attempted. Interruptions and short writes do not end
  // a request; a read is cut short only by the end of the file.
  Status complete(Transfer& transfer);

  // Submits a transfer, and waits until it is complete.
  Status write(std::span<const Request> requests, StorageCounters& counters);
  // transferred[i]: bytes of request i that the file has.
  Status read(std::span<const Request> requests, std::span<int64_t> transferred,
              StorageCounters& counters);

  virtual Status size(int64_t* bytes) = 0;
  // When the file was last written to, by the file system's clock, in nanoseconds; 0: unknown.
  virtual int64_t modified_ns() { return 0; }
  virtual FileStamp stamp() { return {}; }
  // Makes the time of modification of a file with the stamp `now` later by less than a millisecond:
  // one that no later write gives it. Returns the stamp then; one that is not known if the file
  // system or its rights do not allow that.
  virtual FileStamp mark(const FileStamp& now) {
    (void)now;
    return {};
  }
  // Whether calls are served from this node's memory, by the kernel's cache of a local file system.
  virtual bool local() { return false; }
  // Whether what this node has written is shown to others at an open only, after a flush or a close
  // here; and the other way round.
  virtual bool close_to_open() { return false; }
  // Makes the reads that follow see what others have written, as an open does.
  virtual void refresh() {}
  virtual Status flush() = 0;  // fsync; a failure is never hidden by a retry

 private:
  // The two halves of a transfer. If start() throws, no request is under way; finish() throws
  // nothing. Together they set the outcomes.
  virtual void start(Transfer& transfer) = 0;
  virtual void finish(Transfer&) {}  // what start() began; it may have done all

  Status carry_out(Transfer& transfer, StorageCounters& counters);
};

struct OpenedStorage {
  std::unique_ptr<Storage> storage;
  Status status;
};

// Opens a file's storage. Without a storage, `status` gives the reason.
using StorageOpener = std::function<OpenedStorage(bool readable, bool writable)>;

struct StorageSpec {
  const char* name;
  const char* meaning;
  // nullptr: the storage needs the MPI library, and src/mpiio opens it.
  OpenedStorage (*open)(const std::string& path, bool readable, bool writable);
};

std::span<const StorageSpec> storages();
const StorageSpec* find_storage(std::string_view name);

}  // namespace forebay
