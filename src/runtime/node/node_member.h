// This process as a member of its node: attached to the registry and to the arenas in use, with the
// storages of open files, and the helper thread for write-behind and read-ahead. A process has one
// for scope node, whose registry all processes of the job share, and one for scope process.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cache/arena.h"
#include "runtime/cache/cached_file.h"
#include "runtime/node/notices.h"
#include "runtime/node/registry.h"
#include "runtime/node/shared_segment.h"

namespace forebay::runtime {

// One thread of this process for work in the background, with all signals blocked. Before cancel()
// returns, the owner's jobs are finished or dropped.
class Helper {
 public:
  ~Helper();
  // An owner has at most one waiting job: a further one is dropped (the owner will submit it
  // again).
  void submit(const void* owner, std::function<void()> job);
  void cancel(const void* owner);

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<const void*, std::function<void()>>> jobs_;
  const void* running_ = nullptr;
  bool stop_ = false;
  std::thread thread_;
};

// A file's storage in this process, shared by its handles. There are few of them: closing any
// descriptor of a file drops the process's locks on it.
struct OpenStorage {
  std::unique_ptr<Storage> storage;
  bool readable = false;
  bool writable = false;
};

class NodeMember {
 public:
  struct Name {
    std::string job;
    std::string registry;  // the name of the registry's file, without its suffix
  };
  // *created: no process had joined before.
  static std::unique_ptr<NodeMember> join(const std::string& directory, const Name& name,
                                          bool recoverable, bool* created, Status* status);
  // Attaches to the registry at `registry_path` in order to look after processes that have died.
  // Null with success: the registry is gone or being removed. Null with an error: it cannot be
  // used.
  static std::unique_ptr<NodeMember> adopt(const std::string& registry_path, Status* status);
  // Removes the segments of a registry that cannot be attached to.
  static void remove(const std::string& registry_path);
  ~NodeMember();  // leaves; the last process removes the segments, unless bytes are kept for
                  // recovery

  // Says that this node is of scope process, and that `job` is the same job's node of scope node.
  // It notes changes of files, starts the committer and tells the user for both.
  void work_for(NodeMember& job) { job_ = &job; }
  // The job's registry; null if this node's own registry is the job's.
  Registry* job() const { return job_ == nullptr ? nullptr : job_->registry_; }
  NodeMember* job_node() const { return job_; }
  void give(Notices& notices) { notices_ = &notices; }
  // In scope process, the notices of the job's node.
  Notices& notices() const { return job_ == nullptr ? *notices_ : job_->notices(); }
  // Asks for a committer to be started before the first page gets memory. `in_fabric`: libfabric is
  // to reach it, as the node's agent.
  void want_committer(bool in_fabric = false) {
    wants_committer_ = true;
    wants_fabric_ = in_fabric;
  }

  Registry& registry() { return *registry_; }
  uint32_t process() const { return process_; }  // this process's number in the registry
  // Makes more entries of a table, under the registry's lock. Returns the index of the first;
  // no_entry: there is no memory, or the table is full.
  uint32_t make_changes();
  uint32_t make_files();
  uint32_t make_seats();
  uint32_t make_words();
  // Waits until the node's agent listens, which the committer starts when it is first called.
  // False: the node has none.
  bool call_agent();
  // Bytes under a name that the processes of the node share as long as the registry is there. A
  // name's bytes never change.
  Status keep_record(const std::string& name, std::span<const std::byte> bytes);
  std::vector<std::byte> record(const std::string& name) const;  // empty: there are none
  // The cache in arena `number`, mapped at first use.
  ArenaCache* cache(uint32_t number, Status* status);
  // Storage of the file in `slot`, opened for what `mode` needs.
  std::shared_ptr<OpenStorage> storage(uint32_t slot, const StorageOpener& opener, OpenMode mode,
                                       Status* status);
  // Closes the storages that were opened, or kept open, to commit pages of files that no handle has
  // open any more.
  void close_unused();
  Helper& helper() { return helper_; }
  const std::string& registry_path() const { return path_; }
  // The path of the registry that process `pid` of this node has for itself in scope process.
  std::string registry_path_of(pid_t pid) const;
  // SharedSegment::watch() of the registry's segment.
  bool watch() const { return segment_->watch(); }

  // What became of the bytes of a file that a dead process left.
  struct Saved {
    uint32_t slot = 0;  // the file's, in the registry
    std::string path;
    int64_t bytes = 0;  // unsaved bytes, which storage lacked
    Status status;      // the result of committing them
    // Why they must not be committed: the path names another file now, or the file has changed.
    std::string refusal;
    bool told = false;  // the user already knows that they are missing (save_kept only)
    std::string problem() const { return !refusal.empty() ? refusal : cause(status); }
  };
  // Why a file's bytes must not be committed; "" if they may.
  using Refusal = std::function<std::string(const FileEntry&)>;
  // Takes the place of process number `dead`, which has died: ends its half-done I/O, gives back
  // its seats, and commits the bytes of its files. Bytes that are refused are kept.
  std::vector<Saved> reap(uint32_t dead, const Refusal& refusal = {});
  // As reap(), but reaps the process's own cache (scope process) first, if it had one: once the job
  // has forgotten the process, nobody would look for that cache.
  std::vector<Saved> reap_with_own_cache(uint32_t dead);
  // Tries to commit the kept bytes, which no handle is left to commit. The caller tells the user
  // what fails. Saved files stay kept, and with them their notes, until discard_kept().
  std::vector<Saved> save_kept(const Refusal& refusal);
  // Numbers of the processes that died without leaving.
  std::vector<uint32_t> dead_processes();
  bool has_users() const;  // users are all but caretakers; dead ones count until they are reaped
  bool keeps_bytes() const;
  // Drops the pages of a file that rests. Under the registry's lock.
  void end_rest(FileEntry& file);
  // Drops the kept bytes of a file.
  void discard_kept(FileEntry& file);
  // The shared memory that the registry and all arenas take.
  int64_t memory_bytes() const;
  int64_t unsaved_bytes(const FileEntry& file);
  // Forgets the dead processes and all kept bytes, without committing anything.
  void forget_the_dead();
  // From now on the destructor commits nothing for the dead.
  void leave_as_it_is() { looks_only_ = true; }

  // What commits to files of a device have cost, summed over the handles that have left.
  CommitCost commit_cost(uint64_t device);
  void add_commit_cost(uint64_t device, CommitCost cost);

 private:
  NodeMember() = default;
  void leave();
  void begin_care();
  template <typename Entry, uint32_t most>
  uint32_t make(Table<Entry, most>& table, std::atomic<uint32_t>& made);
  Storage* writable_storage(uint32_t slot, uint64_t file_id);

  static constexpr int64_t commit_size_bytes = 4 << 20;  // for the bytes that others left
  // The file as the engine needs it to commit or drop pages without a handle.
  ArenaFile without_handle(FileEntry& file, Storage* storage, Statistics& statistics);
  Saved save(FileEntry& file, const Refusal& refusal);
  void forget(FileEntry& file);
  bool enter(const ProcessId& process, bool caretaker, Status* status);

  std::string path_;    // of the registry
  std::string prefix_;  // of the segments' paths
  std::unique_ptr<SharedSegment> segment_;
  Registry* registry_ = nullptr;
  NodeMember* job_ = nullptr;
  Notices* notices_ = &silence;
  bool wants_committer_ = false;
  bool wants_fabric_ = false;
  uint32_t process_ = 0;  // this process's number
  bool looks_only_ = false;
  std::mutex mutex_;
  std::map<uint32_t, std::unique_ptr<Arena>> arenas_;
  std::map<std::pair<uint64_t, int>, std::weak_ptr<OpenStorage>> storages_;  // by file id and mode
  struct Adopted {
    uint32_t slot = 0;  // in the registry
    std::shared_ptr<OpenStorage> file;
  };
  // By file id: files whose pages, written by others, were committed here.
  std::map<uint64_t, Adopted> adopted_;
  std::map<uint64_t, CommitCost> commit_costs_;  // by device
  Helper helper_;
};

// Says that this process, which has adopted the node's registry, opens files through it.
void open_through(NodeMember& node);

// The node of `scope`, joined at first use; nullptr and a status if that fails. From the join on,
// `notices` is told what the user should know.
NodeMember* node_of(Scope scope, const Options& options, Status* status,
                    Notices& notices = silence);

}  // namespace forebay::runtime
