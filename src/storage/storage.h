// Where committed bytes are stored. There is one file per storage, and one line in storages().
// Implementations: the real file (posix), the MPI library's own file (mpi), and a fault-injecting
// variant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "extent/extent.h"
#include "extent/status.h"

namespace forebay {

// One contiguous file extent, and the memory segments whose bytes form it, in order.
struct Segment {
  std::byte* memory;
  int64_t length;
};
struct Request {
  int64_t offset;  // file offset of the first byte
  std::span<const Segment> segments;
};

struct StorageCounters {
  int64_t requests = 0;  // contiguous file extents
  int64_t syscalls = 0;
};

// Thread rule: any member from any thread.
class Storage {
 public:
  virtual ~Storage() = default;
  // Writes a list of requests (ascending, disjoint), concurrently if that helps, and returns when
  // all are done. Continues after EINTR and short writes. Returns the first failure, with its
  // offset; the other requests are still attempted.
  virtual Status write(std::span<const Request> requests, StorageCounters& counters) = 0;
  // Reads requests. transferred[i]: bytes of request i that the file has (fewer at the end of
  // file).
  virtual Status read(std::span<const Request> requests, std::span<int64_t> transferred,
                      StorageCounters& counters) = 0;
  virtual Status size(int64_t* bytes) = 0;
  // When the file was last written to, by the file system's clock, in nanoseconds; 0: unknown.
  virtual int64_t modified_ns() { return 0; }
  // Whether calls are served from this node's memory, by the kernel's cache of a local file system.
  virtual bool local() { return false; }
  virtual Status flush() = 0;  // fsync; a failure is never hidden by a retry
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
