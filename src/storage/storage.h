// Where committed bytes live. One file per storage, one line in storages(); behind this interface
// stand the real file (posix), the MPI library's own file (mpi) and a fault-injecting variant.
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

// One contiguous file extent and the memory segments that make it up, in order.
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
  // Hands down a list of requests (ascending, disjoint), concurrently where that helps; returns
  // when all are done. EINTR and short writes are continued. The first failure is returned, with
  // its offset; the others are still attempted.
  virtual Status write(std::span<const Request> requests, StorageCounters& counters) = 0;
  // Reads requests; transferred[i] = bytes of request i that the file holds (short at end of file).
  virtual Status read(std::span<const Request> requests, std::span<int64_t> transferred,
                      StorageCounters& counters) = 0;
  virtual Status size(int64_t* bytes) = 0;
  // When the file was last written to, by the file system's clock, nanoseconds; 0: not to be had.
  virtual int64_t modified_ns() { return 0; }
  // Its calls are answered from this node's memory, by the kernel's cache of a local file system.
  virtual bool local() { return false; }
  virtual Status flush() = 0;  // fsync; a failure is never retried into success
};

struct OpenedStorage {
  std::unique_ptr<Storage> storage;
  Status status;
};

// Opens a file's storage; `status` says why where there is none.
using StorageOpener = std::function<OpenedStorage(bool readable, bool writable)>;

struct StorageSpec {
  const char* name;
  const char* meaning;
  // nullptr where the storage needs the MPI library and is opened by src/mpiio.
  OpenedStorage (*open)(const std::string& path, bool readable, bool writable);
};

std::span<const StorageSpec> storages();
const StorageSpec* find_storage(std::string_view name);

}  // namespace forebay
