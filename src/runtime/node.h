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

#include "runtime/arena_cache.h"
#include "runtime/registry.h"
#include "runtime/shared_segment.h"

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
struct OpenFile {
  std::unique_ptr<Storage> storage;
  bool readable = false;
  bool writable = false;
};

struct CommitCost {
  int64_t ns = 0;
  int64_t bytes = 0;
};

class Node {
 public:
  static std::unique_ptr<Node> join(const std::string& directory, const std::string& name,
                                    Status* status);
  ~Node();  // leaves; the last process removes what there is

  Registry& registry() { return *registry_; }
  // The arena of that number, mapped at first use.
  ArenaCache* arena(uint32_t number, Status* status);
  // Storage of the file in `slot`, opened for what `mode` needs.
  std::shared_ptr<OpenFile> storage(uint32_t slot, const StorageOpener& opener, OpenMode mode,
                                    Status* status);
  Helper& helper() { return helper_; }
  // What commits to files of a device cost so far, told by the handles that have left.
  CommitCost commit_cost(uint64_t device);
  void add_commit_cost(uint64_t device, CommitCost cost);

 private:
  Node() = default;
  Storage* writable_storage(uint32_t slot, uint64_t file_id);

  std::string prefix_;  // of the segments' paths
  std::unique_ptr<SharedSegment> segment_;
  Registry* registry_ = nullptr;
  std::mutex mutex_;
  std::map<uint32_t, std::unique_ptr<ArenaCache>> arenas_;
  std::map<std::pair<uint64_t, int>, std::weak_ptr<OpenFile>> storages_;  // by file id and mode
  std::map<uint64_t, std::shared_ptr<OpenFile>> adopted_;  // opened to commit others' pages
  std::map<uint64_t, CommitCost> commit_costs_;            // by device
  Helper helper_;
};

// The node of `scope`, joined at first use; nullptr and a status if it cannot be had.
Node* node_of(Scope scope, const Options& options, Status* status);

}  // namespace forebay::runtime
