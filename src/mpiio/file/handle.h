// The handle: what Forebay knows of one open file of one process, and the map from the user's
// MPI_File to it. The user's MPI_File is the MPI library's own; calls on a file that is not in the
// map pass through to the library.
//
// Lock rule: the members marked (lock) are used under HandleLock. No MPI call that may wait for
// another rank is made with it held, but for the exchange and the rounds of a collective call,
// which all ranks are in (collective_exchange.h, aggregated_call.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/enrolled_file.h"
#include "agent/guests.h"
#include "agent/job_file.h"
#include "agent/kept_handle.h"
#include "domain/region_parts.h"
#include "mpiio/file/collective_exchange.h"
#include "mpiio/file/file_map.h"
#include "mpiio/file/handle_nodes.h"
#include "mpiio/file/uncached.h"
#include "mpiio/job/job.h"
#include "mpiio/job/mistakes.h"
#include "mpiio/library/call.h"
#include "mpiio/library/mpi_library.h"
#include "mpiio/library/own_comm.h"
#include "mpiio/types/view.h"
#include "runtime/cache/cached_file.h"

namespace forebay::mpiio {

class AggregatedCall;

// Why a handle's data calls go to the MPI library: bits on which all ranks of the handle agree.
enum PassThrough : uint32_t {
  cached_mode = 0,
  foreign_view = 1,    // a view that only the library walks
  atomic_library = 2,  // atomic mode without an arena that all ranks share
};

// An ordered access while its ranks tell each other how many bytes they move, so that each knows
// where its own bytes begin. The exchange is complete once all ranks have begun.
struct OrderedTurn {
  bool open = false;     // begun, and the position is not known yet
  int64_t turns = 0;     // ordered accesses of the handle before this one
  int64_t bytes = 0;     // this rank's
  int64_t position = 0;  // where this rank's bytes begin, once known
  Status status;         // why it is not
  MPI_Request request{};
  std::vector<int64_t> all_bytes;  // of every rank; allocated at the open
};

// A split collective between its begin and its end.
struct SplitCollective {
  bool active = false;
  bool deferred = false;  // the end carries out the access
  Call call;
  int64_t bytes = 0;  // bytes that the begin has moved
};

// The words that the ranks of a handle share if all are on one node. `Word` is a pointer to a word,
// or its number.
template <typename Word>
struct RankWords {
  Word position{};      // the shared pointer, in data bytes
  Word turns{};         // twice the number of ordered accesses; odd while one is placed
  Word ordered_base{};  // where the latest ordered access begins
  Word arrivals{};      // of ranks at collective calls

  template <typename Act>
  void for_each(Act act) {
    for (Word* word : {&position, &turns, &ordered_base, &arrivals}) act(*word);
  }
};

struct Handle {
  JobUser job;
  MPI_File file{};
  OwnComm own;  // of the ranks that opened the file
  int rank = 0;
  int ranks = 1;
  int amode = 0;
  std::string name;  // as the user gave it
  bool readable = false;
  bool writable = false;
  bool one_node = true;    // every rank is on this node
  bool elsewhere = false;  // (lock) with job_file: an owner may have no rank of the handle
  // The same on all ranks: a node's client of the file system keeps bytes.
  bool close_to_open = false;

  std::unique_ptr<runtime::CachedFile> cached;  // (lock)
  // (lock) The file through the caches of all nodes that own its bytes; null: `cached` alone.
  std::unique_ptr<agent::JobFile> job_file;
  // (lock) With `nodes`: the file in this node's cache, or, if that has no room for guests, through
  // the owners' caches. Null: guests stay in any case.
  std::unique_ptr<agent::Guests> guests;
  // Of ranks on several nodes, with job_file and owners that are computed; otherwise null.
  std::unique_ptr<CollectiveExchange> exchange;
  // Of ranks on several nodes, with domain=region or dynamic and owners that this open gave to the
  // file; otherwise null.
  std::unique_ptr<RegionParts> region_parts;
  bool first_on_node = false;  // of ranks on several nodes: no lower rank is on this node
  // On rank 0: the open in the job's directory; null: it is not there.
  std::unique_ptr<agent::EnrolledFile> enrolled;
  bool in_directory = false;  // rank 0 has `enrolled`; the same on all ranks
  // The policy sees the accesses of a collective call as one (aggregated_call.h).
  bool aggregates = false;
  AggregatedCall* aggregated_call = nullptr;  // (lock) under way
  // Of ranks that share an arena; null: collective accesses keep no pace.
  std::unique_ptr<runtime::SeatPace> pace;
  // Ranks of other nodes may give the file owners while this handle has it open.
  bool may_get_owners = false;
  // The file had owners before this handle was opened, and this node's cache holds no bytes of
  // others.
  bool has_met_owners = false;
  View view;
  uint32_t pass_through = cached_mode;
  bool atomic = false;
  int64_t position = 0;                     // (lock) individual pointer, in data bytes
  RankWords<std::atomic<int64_t>*> shared;  // null: ranks on several nodes
  // What ranks on several nodes share instead; null: `shared`, or the MPI library has it.
  std::unique_ptr<agent::KeptHandle> kept;
  RankWords<int32_t> word_numbers{-1, -1, -1, -1};  // words that this rank allocated; -1: none
  OrderedTurn ordered;
  SplitCollective split;
  std::unique_ptr<HandleNodes> nodes;  // null: the ranks' nodes hand nothing over
  Mistakes mistakes;                   // (lock) in hints, not told yet
  UncachedCounts uncached;             // calls that the MPI library carried out
  std::mutex mutex;
  std::atomic<bool> entered{false};  // the lock when only one thread calls MPI

  // Whether Forebay keeps the pointer that the ranks share, and not the MPI library.
  bool keeps_pointer() const { return shared.position != nullptr || kept != nullptr; }
  // True: what one rank writes, the others find in the cache.
  bool all_ranks_share_arena() const {
    return one_node && cached->options().scope != Scope::process;
  }
  // (lock) use(file), with the file in the cache or caches through which the handle's accesses go.
  template <typename Use>
  auto through_caches(Use use) {
    if (job_file != nullptr) return use(*job_file);
    if (guests != nullptr) return use(*guests);
    return use(*cached);
  }
  // (lock) Nodes without a rank of the handle own bytes of the file.
  bool has_other_owners() const { return job_file != nullptr && elsewhere; }
  // What one rank writes, the others find at once, through one cache or several.
  bool coherent() const { return all_ranks_share_arena() || job_file != nullptr; }
};

// Whether several threads may call MPI at once. It is assumed until it is known.
extern std::atomic<bool> many_threads;
// Finds out many_threads. Also called at opens, since a program with sessions never calls MPI_Init.
void learn_thread_level();

// The handle's lock. If only one thread at a time calls MPI, it is only a mark, which costs almost
// nothing.
class HandleLock {
 public:
  explicit HandleLock(Handle& handle)
      : handle_(handle), by_mutex_(many_threads.load(std::memory_order_relaxed)) {
    if (by_mutex_)
      handle_.mutex.lock();
    else
      handle_.entered.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~HandleLock() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (by_mutex_)
      handle_.mutex.unlock();
    else
      handle_.entered.store(false, std::memory_order_relaxed);
  }
  HandleLock(const HandleLock&) = delete;
  HandleLock& operator=(const HandleLock&) = delete;

 private:
  Handle& handle_;
  const bool by_mutex_;
};

// Exists while a handle is made or removed, and locks of the node may be held.
class HandlesChange {
 public:
  HandlesChange() { under_way_.fetch_add(1); }
  ~HandlesChange() { under_way_.fetch_sub(1); }
  HandlesChange(const HandlesChange&) = delete;
  HandlesChange& operator=(const HandlesChange&) = delete;
  static bool under_way() { return under_way_.load() != 0; }

 private:
  static std::atomic<int> under_way_;
};

// Takes a handle's lock if no call is inside the handle. False: a call of another thread is, or one
// of this thread that was interrupted by a signal handler or left by a longjmp.
bool try_lock(Handle& handle);

extern FileMap<Handle> open_handles;

inline Handle* find_handle(MPI_File file) { return open_handles.find(file); }

}  // namespace forebay::mpiio
