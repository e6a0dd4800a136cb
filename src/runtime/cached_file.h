// A file seen through the cache by one open handle of one process. MPI-free: src/mpiio turns MPI
// calls into pieces and calls this; tests drive it from plain processes and threads.
//
// Thread rule: one CachedFile is used by one thread at a time (the caller holds its handle's lock);
// different CachedFiles, in one process or several, may act on the same file at the same time.
//
// Visibility: with a shared arena (scope node) bytes are visible to every handle of the node when
// write() returns. With scope process they are visible to the process's own handles at once and to
// others after commit().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "extent/extent.h"
#include "extent/status.h"
#include "options/options.h"

namespace forebay::runtime {

// A contiguous run of a file and the memory it is copied from or to.
struct Piece {
  int64_t offset;
  std::byte* memory;
  int64_t length;
};

struct Statistics {
  int64_t write_calls = 0, read_calls = 0;       // calls of write() and read()
  int64_t write_bytes = 0, read_bytes = 0;
  int64_t hits = 0, misses = 0, evictions = 0;   // pages, as the replacement policy counts them
  int64_t write_requests = 0, read_requests = 0; // contiguous extents handed to storage
  int64_t write_syscalls = 0, read_syscalls = 0;
  int64_t committed_bytes = 0, fetched_bytes = 0;
  int64_t bypass_calls = 0, bypass_bytes = 0;
  int64_t io_ns = 0;                             // time inside read and write (sampled estimate)
  void add(const Statistics& other);
};

class Node;  // this process's attachment to its node: registry, arenas, helper threads

// The process's node, made at first use; nullptr (and a Status) when it cannot be had.
Node* node(const Options& process_options, Status* status);
// Ends helper threads, unmaps and (last process out) removes what was created. At MPI_Finalize.
void leave_node();

enum class OpenMode : uint8_t { read_only, write_only, read_write };

class CachedFile {
 public:
  // Joins (or creates) the node's entry of the file `path` names; the file must exist. When another
  // handle has it open already, that handle's page size, kind and capacity hold for both, and
  // `options()` says so. Clean pages held from before are dropped (the file may have changed).
  static std::unique_ptr<CachedFile> open(const std::string& path, OpenMode mode,
                                          const Options& options, Status* status);
  ~CachedFile();  // like close(true) when close was not called

  const Options& options() const;

  // All pieces are written, in order (later pieces win where they overlap).
  Status write(std::span<const Piece> pieces);
  Status write(int64_t offset, const std::byte* memory, int64_t length);

  // Reads until the end of file. *transferred = bytes read, in piece order, up to the first byte
  // at or past the end of file.
  Status read(std::span<const Piece> pieces, int64_t* transferred);
  Status read(int64_t offset, std::byte* memory, int64_t length, int64_t* transferred);

  // The size a reader would see: storage's size and uncommitted bytes.
  Status size(int64_t* bytes);

  // Every byte written through any handle that shares this cache is handed to storage.
  Status commit();
  // fsync of storage (after commit()).
  Status flush_storage();
  // Clean bytes are forgotten; the next read asks storage.
  void drop_clean();
  // Cached bytes at and beyond `bytes` are forgotten, dirty ones too. Storage is not touched. The
  // caller makes sure that no other handle writes meanwhile.
  void truncate_cache(int64_t bytes);
  // Storage's size was changed to `bytes` by someone we know of (set_size, preallocate).
  void note_size(int64_t bytes);

  // Switches this cache file between write-back and write-through (every write is committed before
  // it returns, reads are not kept).
  void set_write_through(bool on);

  // Leaves the file; commits first unless `discard` (then this file's dirty bytes are dropped when
  // the last handle leaves). After an error the handle is closed all the same.
  Status close(bool discard);

  Statistics statistics() const;
};

// 64-bit words shared by the processes of a node, for shared file pointers. Allocated by one
// process, named by index, zero at first.
class SharedWords {
 public:
  static int32_t allocate(Node& node);  // -1: none left
  static std::atomic<int64_t>* at(Node& node, int32_t index);
  static void release(Node& node, int32_t index);
};

}  // namespace forebay::runtime
