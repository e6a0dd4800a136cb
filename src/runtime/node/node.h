// This process's attachment to its node: the registry, the arenas in use, the storages of open
// files, and the helper thread for write-behind and read-ahead. One for scope node (shared by the
// job's processes on the node) and one for scope process.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/cache/arena.h"
#include "runtime/cache/cached_file.h"
#include "runtime/node/notices.h"
#include "runtime/node/registry.h"
#include "runtime/node/shared_segment.h"

namespace forebay::runtime {

// Work done in the background by one thread of this process, all signals blocked. Jobs of an owner
// that leaves are finished or dropped before cancel() returns.
class Helper {
 public:
  ~Helper();
  // At most one waiting job an owner: a further one is dropped (it will be asked for again).
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

// A file's storage in this process, shared by its handles: closing any descriptor of a file would
// drop the process's locks on it, so there are few.
struct OpenStorage {
  std::unique_ptr<Storage> storage;
  bool readable = false;
  bool writable = false;
};

class Node {
  friend class SharedWords;

 public:
  struct Name {
    std::string job;
    std::string registry;  // of the registry's file, without its suffix
  };
  // `created` says whether nobody had joined before.
  static std::unique_ptr<Node> join(const std::string& directory, const Name& name,
                                    bool recoverable, bool* created, Status* status);
  // Attaches to what a registry's path names, to look after processes that have died. Null: it is
  // being removed, or is not ours to read.
  static std::unique_ptr<Node> adopt(const std::string& registry_path, Status* status);
  // Removes the segments of a registry that cannot be attached to.
  static void remove(const std::string& registry_path);
  ~Node();  // leaves; the last process removes what there is, unless bytes are kept for recovery

  // Makes this the cache of one process of the job whose node that is, of scope node.
  void work_for(Node& job) { job_ = &job; }
  Registry* job() const { return job_ == nullptr ? nullptr : job_->registry_; }  // null: its own
  Node* job_node() const { return job_; }
  void give(Notices& notices) { notices_ = &notices; }
  // Of the job's node, where this is the cache of one process.
  Notices& notices() const { return job_ == nullptr ? *notices_ : job_->notices(); }
  // A committer is to look after the processes from their first page on.
  void want_committer() { wants_committer_ = true; }

  Registry& registry() { return *registry_; }
  uint32_t process() const { return process_; }  // this process's number in the registry
  // Makes more entries of a table, under the registry's lock; the first of them. no_entry: there is
  // no memory, or the table is full.
  uint32_t make_changes();
  uint32_t make_files();
  uint32_t make_seats();
  // The cache in the arena of that number, mapped at first use.
  ArenaCache* cache(uint32_t number, Status* status);
  // Storage of the file in `slot`, opened for what `mode` needs.
  std::shared_ptr<OpenStorage> storage(uint32_t slot, const StorageOpener& opener, OpenMode mode,
                                       Status* status);
  // As the storage says, asked once a device and kind of storage: on a network it may cost a
  // message.
  bool is_local(const FileEntry& file, const std::string& kind, Storage& storage);
  // Closes what was opened, or kept open, to commit pages of files that nobody has open any more.
  void close_unused();
  Helper& helper() { return helper_; }
  const std::string& registry_path() const { return path_; }
  // The path of the registry that process `pid` of this node has for itself in scope process.
  std::string registry_path_of(pid_t pid) const;
  // As SharedSegment::watch, for the registry.
  bool watch() const { return segment_->watch(); }

  // What becomes of a file whose bytes a dead process left.
  struct Saved {
    std::string path;
    int64_t bytes = 0;    // that storage lacked
    Status status;        // of committing them
    std::string refusal;  // why they must not be: the file is another one by now, or has changed
    bool told = false;    // the user had been told before that they are missing (save_kept only)
    std::string problem() const { return !refusal.empty() ? refusal : cause(status); }
  };
  // Why a file's bytes must not be committed; "" if they may.
  using Refusal = std::function<std::string(const FileEntry&)>;
  // Takes the place of process number `dead`, which has died: its locks, its half-done I/O, and the
  // bytes of its files, which are committed, or kept if refused.
  std::vector<Saved> reap(uint32_t dead, const Refusal& refusal = {});
  // With scope process it had a cache of its own, too: that first, as nobody would look for it once
  // the job has forgotten the process.
  std::vector<Saved> reap_with_own_cache(uint32_t dead);
  // Tries to commit the bytes that no handle is left for. The caller tells the user of what fails.
  std::vector<Saved> save_kept(const Refusal& refusal);
  // Numbers of the processes that died without leaving.
  std::vector<uint32_t> dead_processes();
  bool keeps_bytes() const;
  // Drops what is kept of a file.
  void discard_kept(FileEntry& file);
  // Shared memory behind the registry and all arenas.
  int64_t memory_bytes() const;
  int64_t unsaved_bytes(const FileEntry& file);
  // Nothing of the dead is to be committed.
  void forget_the_dead();
  // The destructor commits nothing for the dead.
  void leave_as_it_is() { looks_only_ = true; }

  // What commits to files of a device cost so far, told by the handles that have left.
  CommitCost commit_cost(uint64_t device);
  void add_commit_cost(uint64_t device, CommitCost cost);

 private:
  Node() = default;
  void leave();
  void begin_care();
  template <typename Entry, uint32_t most>
  uint32_t make(Table<Entry, most>& table, std::atomic<uint32_t>& made);
  Storage* writable_storage(uint32_t slot, uint64_t file_id);

  static constexpr int64_t commit_size_bytes = 4 << 20;  // of what others left
  // A file that its handles have left.
  ArenaFile without_handle(FileEntry& file, Storage* storage, Statistics& statistics);
  Saved save(FileEntry& file, const Refusal& refusal);
  void forget(FileEntry& file);
  bool enter(const ProcessId& process, bool caretaker, Status* status);
  bool has_users() const;  // dead ones that nobody has reaped, too

  std::string path_;    // of the registry
  std::string prefix_;  // of the segments' paths
  std::unique_ptr<SharedSegment> segment_;
  Registry* registry_ = nullptr;
  Node* job_ = nullptr;
  Notices* notices_ = &silence;
  bool wants_committer_ = false;
  uint32_t process_ = 0;  // this process's number
  bool looks_only_ = false;
  std::mutex mutex_;
  std::map<uint32_t, std::unique_ptr<Arena>> arenas_;
  std::map<std::pair<uint64_t, int>, std::weak_ptr<OpenStorage>> storages_;  // by file id and mode
  struct Adopted {
    uint32_t slot = 0;  // in the registry
    std::shared_ptr<OpenStorage> file;
  };
  std::map<uint64_t, Adopted> adopted_;  // by file id: pages of theirs were committed here
  std::map<std::pair<uint64_t, std::string>, bool> local_;  // by device and kind of storage
  std::map<uint64_t, CommitCost> commit_costs_;             // by device
  Helper helper_;
};

// The node of `scope`, joined at first use; nullptr and a status if it cannot be had. From then on
// `notices` are given what there is to tell.
Node* node_of(Scope scope, const Options& options, Status* status, Notices& notices = silence);

}  // namespace forebay::runtime
