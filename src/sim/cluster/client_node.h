// A cache of a simulated cluster: of one process, or of the processes of a node. It is the engine's
// cache, with a process of its own for what happens in the background.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "sim/cluster/client_driver.h"
#include "sim/cluster/kernel.h"
#include "sim/instant_driver.h"

namespace forebay::sim {

struct ClientCacheSettings {
  CacheShape shape;
  HandleRules handles;
  int64_t commit_size_bytes = 4 << 20;
};

class ClientNode {
 public:
  // `host`: the node's number in the network.
  ClientNode(Kernel& kernel, FileSystem& file_system, uint32_t host,
             const ClientCacheSettings& settings);

  // What a process has open.
  class Handle {
   public:
    Handle(ClientNode& node, uint64_t file, uint32_t number);
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    // Called by a process, which waits.
    int64_t access(const Access& access);  // returns the bytes before the end of the file
    void sync();
    // Storage gets bytes of the range that are dirty, and the cache forgets the range.
    void settle(Extent range);
    void close();
    // The same, but if others have the file open here, the last of them commits (option
    // commit_at_close=last).
    void close_last_commits();

    // How far the handles of a collective access may be apart.
    int64_t pace_bytes() const;

    ClientFile& file() { return file_; }
    const ClientFile& file() const { return file_; }
    CacheHandle<ClientDriver>& cached() { return cached_; }

   private:
    void leave();

    ClientNode& node_;
    Statistics statistics_;
    ClientFile file_;
    CacheHandle<ClientDriver> cached_;
  };

  // The background process ends once there is nothing to do.
  void end_background();

  const ClientCacheSettings& settings() const { return settings_; }
  Kernel& kernel() const { return kernel_; }
  FileSystem& file_system() const { return file_system_; }
  uint32_t host() const { return host_; }
  Cache<ClientDriver>& cache() { return cache_; }
  ClientFileState& file(uint32_t slot) { return files_[slot]; }
  const ClientFileState* file_with(uint32_t slot, uint64_t id) const {
    return files_[slot].id == id ? &files_[slot] : nullptr;
  }
  // What the handles that are closed, and the background, have done.
  Statistics& statistics() { return statistics_; }

 private:
  friend class ClientFile;
  struct Job {
    enum Kind : uint8_t { commit, fetch, write_back } kind;
    const ClientFile* file;
    uint32_t target;
    std::vector<Extent> extents;
  };
  void submit(Job job);
  void work();  // of the background process
  void carry_out(Job& job);
  // Waits until the background does nothing more for a file that is about to be closed.
  void drain_background(const ClientFile& file);
  uint32_t slot_of(uint64_t number);

  Kernel& kernel_;
  FileSystem& file_system_;
  uint32_t host_;
  ClientCacheSettings settings_;
  CacheArena arena_;
  LazyMemory memory_;
  ClientDriver driver_;
  Cache<ClientDriver> cache_;
  std::deque<ClientFileState> files_;  // by slot
  uint64_t generation_ = 1;
  Statistics statistics_;

  std::deque<Job> jobs_;
  const ClientFile* working_for_ = nullptr;
  bool ends_ = false;
  Queue has_jobs_, job_done_;
  Process background_;
};

}  // namespace forebay::sim
