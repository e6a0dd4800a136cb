// The file system of a simulated cluster, as its clients see it. Implementations: one without
// caches at the clients (pvfs.h), and those whose clients keep pages (paged_file_system.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "extent/extent.h"
#include "sim/cluster/kernel.h"
#include "sim/cluster/network.h"
#include "sim/cluster/process.h"
#include "sim/cluster/recycled.h"
#include "sim/cluster/server_storage.h"
#include "sim/cluster/waits.h"

namespace forebay::sim {

// What a server has done.
struct FileServerCounts {
  int64_t requests = 0, read_bytes = 0, written_bytes = 0;
  Picoseconds busy = 0;  // with requests, besides storage
};

struct LockCounts {
  int64_t asked = 0;        // by clients
  int64_t called_back = 0;  // from clients, for other clients
};

// How a file's bytes lie on the servers; no bytes: in no stripes.
struct Striping {
  int64_t bytes = 0;
  int64_t servers = 0;  // of a file
  bool locks = false;   // nodes take locks of the servers, and wait for each other
};

class FileSystem {
 public:
  // Clients are the network's hosts from 0 on; server s is host `first_server` + s.
  FileSystem(Kernel& kernel, Network& network, uint32_t first_server,
             std::span<ServerStorage* const> servers);
  virtual ~FileSystem();
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  uint32_t servers() const { return io_servers_; }
  // Those that have counts(): the servers, and that of metadata if it is a host of its own.
  uint32_t counted() const { return static_cast<uint32_t>(servers_.size()); }

  // Called by a process, which waits.
  virtual void create(uint32_t client, uint64_t file) = 0;
  virtual void open(uint32_t client, uint64_t file) = 0;
  virtual void close(uint32_t client, uint64_t file) = 0;

  // Reads or writes extents of a file; `done` happens when the call of the program would return.
  virtual void access(uint32_t client, uint64_t file, bool writes, std::span<const Extent> extents,
                      Then done) = 0;
  // The file's size, known without a message.
  int64_t size(uint64_t file) const;
  // The write accesses that caches have made to the file.
  int64_t writes(uint64_t file) const;
  void count_write(uint64_t file);
  // The file has another size from now on, which takes no time.
  void resize(uint64_t file, int64_t bytes) { set_size(file, bytes); }
  // The file has so many bytes before the simulation begins; they are on the servers' devices.
  virtual void place(uint64_t file, int64_t bytes) = 0;

  virtual Striping striping() const = 0;
  // Whether clients look for what others have written when they open a file only.
  virtual bool close_to_open() const { return false; }
  // The time of the lock that an MPI library takes around each access of a program's call, and of
  // its end; 0: it takes none.
  virtual Picoseconds lock_time() const { return 0; }
  const FileServerCounts& counts(uint32_t server) const { return servers_[server].counts; }
  // Of a server: the work with requests that waits, and what it has done until now.
  Picoseconds waiting(uint32_t server) const {
    return std::max<Picoseconds>(servers_[server].free_at - kernel_.now(), 0);
  }
  Picoseconds worked(uint32_t server) const { return counts(server).busy - waiting(server); }
  int64_t requests() const { return requests_; }  // for bytes
  virtual LockCounts locks() const { return {}; }
  // Who waited for whom, also where no request was made.
  Waits& waits() { return waits_; }

 protected:
  struct Server {
    ServerStorage* storage;
    Picoseconds free_at = 0;  // from when on it can work at another request
    FileServerCounts counts;
  };

  void set_size(uint64_t file, int64_t bytes);
  uint32_t host_of(uint32_t server) const { return first_server_ + server; }
  // The server's work for a request begins when it is free, and ends with `then`.
  void work(uint32_t server, Picoseconds time, Then then);
  // A request for metadata, what it takes the server, and its response.
  struct Operation {
    int64_t request_bytes;
    Picoseconds time;
    int64_t response_bytes;
  };
  // A host, client or server, asks a server; itself without a message. Called by a process, which
  // waits.
  void call(uint32_t host, uint32_t server, const Operation& operation);
  // The same without a wait: `answered` happens once the response is there.
  void ask(uint32_t host, uint32_t server, const Operation& operation, Then answered);

  Kernel& kernel_;
  Network& network_;
  const uint32_t first_server_;
  const uint32_t io_servers_;
  std::vector<Server> servers_;
  int64_t requests_ = 0;
  Waits waits_;

 private:
  class Call;
  Recycled<Call> calls_;
  std::vector<int64_t> sizes_;  // by file
  std::vector<int64_t> writes_;
};

}  // namespace forebay::sim
