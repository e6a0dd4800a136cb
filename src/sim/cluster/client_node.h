// A cache of a simulated cluster: of one process, or of the processes of a node. It is the engine's
// cache; what handles leave to the background is done by helpers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sim/cluster/client_driver.h"
#include "sim/cluster/kernel.h"
#include "sim/instant_driver.h"
#include "sim/recorded_steps.h"

namespace forebay::sim {

struct ClientCacheSettings {
  CacheShape shape;
  HandleRules handles;
  int64_t commit_size_bytes = 4 << 20;
  bool commit_at_last_close = false;  // commit_at_close=last
  bool keeps_pages = true;            // over an open: keep=job or stat
};

class ClientNode {
 public:
  // `host`: the node's number in the network.
  ClientNode(Kernel& kernel, FileSystem& file_system, uint32_t host,
             const ClientCacheSettings& settings);

  // What a process has open.
  class Handle {
   public:
    // Of the accesses: the program; the program, to a file whose bytes have owners; an agent.
    enum class Maker : uint8_t { program, owner, agent };
    // `number`: of the process whose accesses these are. `reads`: the handle may read.
    Handle(ClientNode& node, uint64_t file, uint32_t number, Maker maker = Maker::program,
           bool reads = true);
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    // Called by a process, which waits.
    int64_t access(const Access& access);  // returns the bytes before the end of the file
    void commit(bool own);                 // `own`: only what was written through the handle
    void drop_clean();
    void truncate(int64_t bytes);
    void expect_size(int64_t bytes);  // the size that readers see is at least so large
    void resize(int64_t bytes);       // sets the file's size in storage, which takes no time here
    // From now on its writes count as those of a writer with this number.
    void write_as(uint32_t number) { file_.write_as(number); }
    void access_past(bool writes, Extent extent);
    void commit_range(Extent range);
    void drop_range(Extent range);
    // Both: storage gets bytes of the range that are dirty, and the cache forgets the range.
    void settle(Extent range);
    void end_read_ahead();  // nothing is fetched ahead from now on
    // With `discard`, what was written through it and is still in pages need not reach storage.
    void close(bool discard = false, AtLeave at_leave = AtLeave::as_option);
    // If others have the file open here, the last of them commits (option commit_at_close=last).
    void close_last_commits();

    // How far the handles of a collective access may be apart.
    int64_t pace_bytes() const;

    ClientFile& file() { return file_; }
    const ClientFile& file() const { return file_; }
    CacheHandle<ClientDriver>& cached() { return cached_; }

   private:
    void leave(bool discard);

    ClientNode& node_;
    Statistics statistics_;
    ClientFile file_;
    CacheHandle<ClientDriver> cached_;
  };

  // The helpers end once there is nothing to do.
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
  // The cache is about to write to the file in storage, up to `end`.
  void count_write(ClientFileState& file, int64_t end);
  // Storage's size of the file, as this cache has to see it.
  int64_t stored_bytes(const ClientFileState& file) const {
    return settings_.handles.deterministic ? file.recorded_bytes : file_system_.size(file.number);
  }
  // What the handles that are closed, and the helpers, have done.
  Statistics& statistics() { return statistics_; }

 private:
  friend class ClientFile;
  struct Job {
    enum Kind : uint8_t { commit, fetch, write_back } kind;
    const ClientFile* file;
    WriteBehind goal;
    std::vector<Extent> extents;
  };
  // A process of its own for each process that uses the cache, which does what handles leave to the
  // background (runtime/node/node_member.h).
  struct Helper {
    std::deque<Job> jobs;
    const ClientFile* working_for = nullptr;
    Queue has_jobs, job_done;
    std::unique_ptr<Process> process;
  };
  void submit(Job job);
  void work(Helper& helper);
  void carry_out(Job& job);
  // Waits until its helper does nothing more for a file that is about to be closed.
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

  std::map<uint32_t, Helper> helpers_;  // by process
  bool ends_ = false;
};

}  // namespace forebay::sim
