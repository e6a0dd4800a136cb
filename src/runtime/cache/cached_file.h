// A file seen through the cache by one open handle of one process. MPI-free: src/mpiio turns MPI
// calls into accesses and calls this; tests drive it from plain processes and threads.
//
// Thread rule: one CachedFile is used by one thread at a time (the caller holds its handle's lock);
// different CachedFiles, in one process or several, may act on the same file at the same time.
//
// Memory that is refused is a failure like any other (Code::no_memory): no member throws, and what
// must not fail (forgetting, leaving) needs none.
//
// Visibility: with a shared arena (scope node) bytes are visible to every handle of the node when
// write() returns. With scope process they are visible to the process's own handles at once and to
// others after commit().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cache_handle.h"
#include "engine/statistics.h"
#include "extent/extent.h"
#include "extent/status.h"
#include "options/options.h"
#include "runtime/cache/arena.h"
#include "runtime/cache/turn.h"
#include "runtime/node/registry.h"
#include "storage/storage.h"

namespace forebay::runtime {

class Node;  // this process's attachment to its node: registry, arenas, helper threads
struct OpenStorage;

// The process's node, made at first use; nullptr (and a Status) when it cannot be had.
Node* node(const Options& process_options, Status* status);
// Ends helper threads, unmaps and (last process out) removes what was created. At MPI_Finalize.
void leave_node();
// Whether bytes that storage would not take wait in the node's caches.
bool node_keeps_bytes();
// The shared memory that this process has seen its node's caches take at most, in bytes: of the one
// that its node's processes share, or of its own (scope process).
int64_t highest_memory(Scope scope);

// Tells this node's shared memory from any other: equal for the processes that have joined it.
int64_t memory_identity(Node& node);

// Whether no process of the node has asked for this number (not 0) before. There is room for few:
// beyond that nobody is the first.
bool first_notice(Node& node, uint64_t number);

enum class OpenMode : uint8_t { read_only, write_only, read_write };

class CachedFile final : private HandleServices {
 public:
  // Joins (or creates) the node's entry of the file `path` names; the file must exist. When another
  // handle has it open already, that handle's page size, kind and capacity hold for both, and
  // `options()` says so. `opener` opens storages that need more than the path. Clean pages held
  // from before are dropped (the file may have changed).
  static std::unique_ptr<CachedFile> open(const std::string& path, OpenMode mode,
                                          const Options& options, Status* status,
                                          const StorageOpener& opener = {});
  ~CachedFile();  // like close(true) when close was not called

  const Options& options() const { return options_; }
  // Those of `changed` that may change on an open file hold from now on, for this handle.
  void change_options(const Options& changed);
  // The memory limit of this node's control groups, where it makes the cache smaller than was asked
  // for (options() says how large it is); 0: it does not.
  int64_t bounding_limit() const { return bound_by_; }

  // Carries out an access; its bytes are in order at `memory`, or at the data bytes of `memory`,
  // whose offsets are addresses. *moved: the bytes before the end of file.
  Status access(const Access& access, std::byte* memory, int64_t* moved);
  Status access(const Access& access, const Tiling& memory, int64_t* moved);
  // The same for contiguous bytes of the file.
  Status write(int64_t offset, const std::byte* memory, int64_t length);
  Status read(int64_t offset, std::byte* memory, int64_t length, int64_t* moved);

  // The size a reader would see: storage's size and uncommitted bytes.
  Status size(int64_t* bytes);

  // Every byte written through any handle that shares this cache is handed to storage.
  Status commit();
  // What there is to commit, for any handle of the cache, in whole pages.
  int64_t dirty_bytes() const;
  // Another handle has committed what this one wrote.
  void note_stored();
  // fsync of storage (after commit()).
  Status flush_storage();
  // Clean bytes are forgotten; the next read asks storage.
  void drop_clean();
  // Cached bytes at and beyond `bytes` are forgotten, dirty ones too. Storage is not touched. The
  // caller makes sure that no other handle writes meanwhile, and calls this before storage shrinks
  // (a later commit would bring the bytes back) and after (read-ahead may have fetched them again).
  void truncate_cache(int64_t bytes);

  // The MPI library has changed the file by itself.
  void note_own_change();

  // Held during an access, and by what else is done to the cache, where things take turns
  // (runtime/cache/turn.h). `numbered`: somebody records the access.
  Turn turn(bool numbered);

  // Switches the file between write-back and write-through (every write is in storage before it
  // returns, reads are not kept), for all handles, as long as one of them wants it.
  Status set_write_through(bool on);

  // Accesses of atomic mode exclude each other over all handles that share this cache.
  void lock_access();
  void unlock_access();

  // Leaves the file; commits first unless `discard` (then its dirty bytes are dropped when the last
  // handle leaves). After an error the handle is closed all the same.
  Status close(bool discard);

  Statistics statistics() const;

 private:
  CachedFile() = default;
  Status enter(const std::string& path, OpenMode mode, const Options& options,
               const StorageOpener& opener);
  void leave_file(bool discard, const Status& status);
  void note_step(const Turn& turn, CacheStep step, int64_t argument, bool reads = false);

  void commit_in_background(uint32_t target) override;
  void fetch_in_background(std::span<const Extent> extents) override;
  CommitCost commit_cost() const override;
  void tell_of_memory() override;
  void fetch_ahead();
  void count_background(const Statistics& statistics);

  Options options_;
  int64_t bound_by_ = 0;
  Node* node_ = nullptr;
  ArenaCache* cache_ = nullptr;
  FileEntry* entry_ = nullptr;
  uint32_t slot_ = 0;        // of the entry
  bool takes_over_ = false;  // bytes that an earlier last handle could not commit
  Seat* seat_ = nullptr;
  uint32_t seat_number_ = 0;
  std::shared_ptr<OpenStorage> storage_;
  ArenaFile file_;
  std::optional<CacheHandle<ArenaDriver>> handle_;
  bool wants_write_through_ = false;
  Statistics statistics_;
  mutable std::mutex background_mutex_;
  std::atomic<bool> closing_{false};  // what is still to be fetched ahead is of no use
  std::vector<Extent> to_fetch_;      // predicted, not yet taken up by the helper thread
  Statistics background_statistics_;  // of work done by the helper thread
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
