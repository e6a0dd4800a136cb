// File systems whose clients keep pages of files: like Lustre, where locks of extents keep the
// clients' pages coherent, or like NFS, where a client looks for changes when it opens a file.
//
// A file lies in stripes on some of the servers; what it has on one of them is an object. An access
// goes through the pages of its node: a write returns once its bytes are in pages there, a read
// once its pages are. Pages that a write covers in part and that the file has are read before.
// Dirty pages leave in requests of many pages, a bounded number of them at a time for each server,
// when there are enough for a request, when too many are dirty, or when their lock is called back.
// Reads in order fetch further pages ahead.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/cluster/extent_locks.h"
#include "sim/cluster/extent_set.h"
#include "sim/cluster/file_system.h"
#include "sim/cluster/metadata.h"
#include "sim/cluster/recycled.h"

namespace forebay::sim {

struct PagedProfile {
  bool locks = true;  // of extents; without them an open looks for changes
  int64_t stripe_bytes = 1 << 20;
  int64_t stripe_count = 1;  // servers of a file
  int64_t page_bytes = 4096;
  int64_t cache_bytes = int64_t{16} << 30;  // of a node's pages
  int64_t dirty_bytes = 32 << 20;           // of a node's pages for one server
  int64_t read_ahead_bytes = 64 << 20;      // of an object; 0: none
  int64_t rpc_bytes = 4 << 20;              // of pages that a request moves, at most
  int64_t extents_an_rpc = 256;             // and their extents
  int64_t rpcs_in_flight = 8;               // requests of a node to one server
  int64_t carried_bytes = 16 << 10;         // a write of at most so many travels with its request
  bool commits_at_close = false;            // a close waits until the servers' devices have all
  Picoseconds call = 0;                     // a client's work for each part of an access
  double copy_bytes_per_second = 1e10;      // between a program and the pages
  Picoseconds request_time = 0;             // a server's work for a request, besides its storage
  Picoseconds lock_time = 0;                // and for each message of a lock
  // The metadata server's work.
  Picoseconds create = 0, open = 0, close = 0;  // of a file; `create` of a directory, too
  Picoseconds get_attributes = 0, set_attributes = 0, read_directory = 0, remove = 0;
  int64_t entries_a_readdir = 4096;  // that a response has, at most
  Picoseconds library_lock = 0;      // lock_time()
};

class PagedFileSystem final : public FileSystem, public Metadata {
 public:
  // As for FileSystem. The metadata server is a host of its own, the one after the servers.
  PagedFileSystem(Kernel& kernel, Network& network, const PagedProfile& profile,
                  uint32_t first_server, std::span<ServerStorage* const> servers);
  ~PagedFileSystem() override;

  void create(uint32_t client, uint64_t file) override;
  void open(uint32_t client, uint64_t file) override;
  void close(uint32_t client, uint64_t file) override;
  void access(uint32_t client, uint64_t file, bool writes, std::span<const Extent> extents,
              Then done) override;
  void place(uint64_t file, int64_t bytes) override;
  Striping striping() const override {
    return profile_.locks ? Striping{profile_.stripe_bytes, stripes_a_row(), true} : Striping{};
  }
  bool close_to_open() const override { return !profile_.locks; }
  LockCounts locks() const override { return lock_counts_; }
  Picoseconds lock_time() const override { return profile_.library_lock; }

  void make_directory(uint32_t client, const Named& made) override;
  void create_file(uint32_t client, const Named& made) override;
  void set_attributes(uint32_t client, const Named& of) override;
  void get_attributes(uint32_t client, const Named& of) override;
  void read_directory(uint32_t client, uint64_t directory, int64_t entries) override;
  void remove_file(uint32_t client, const Named& removed) override;
  void remove_directory(uint32_t client, const Named& removed) override;
  void forget(uint32_t) override {}  // each call asks

  // Of a node, for tests: bytes of pages that it has, and of those that no server has yet.
  int64_t cached_bytes(uint32_t client) const;
  int64_t dirty_bytes(uint32_t client) const;

 private:
  class Access;
  class Rpc;
  class Commit;
  class LockMessage;
  using Number = ExtentLocks::Number;

  // A part of an access within one stripe.
  struct Piece {
    uint32_t server = 0;
    Extent place;             // in the object
    int64_t file_offset = 0;  // of its first byte
  };
  // A lock that a client has, or has asked for.
  struct ClientLock {
    Number number;
    bool writes;
    Extent extent;
    bool granted = false;
    bool called_back = false;
    uint32_t users = 0;  // accesses under way
  };
  // What a client knows and has of an object.
  struct Object {
    uint64_t file = 0;
    uint32_t server = 0;
    uint32_t client = 0;
    ExtentSet cached, dirty, fetching;
    std::vector<Rpc*> writing;
    std::vector<ClientLock> locks;
    std::vector<Access*> waiting;  // for a lock or pages
    int64_t next_read = 0, ahead = 0, ahead_end = 0;
    uint64_t seen = 0;         // the file's version when the pages were known to be right
    bool to_write = false;     // in its client's queue
    bool all_leaves = false;   // a process waits until nothing is dirty
    bool uncommitted = false;  // a server may have it in its memory alone
    Queue idle;
  };
  // What a client has under way with one server.
  struct Line {
    int64_t dirty = 0;  // bytes of pages that are dirty or on their way
    int64_t in_flight = 0;
    std::deque<Object*> to_write;
    std::deque<Rpc*> to_read;
    std::deque<Access*> want_room;
  };
  struct Kept {
    Object* object;
    Extent extent;
  };
  struct Client {
    std::unordered_map<uint64_t, Object> objects;  // by object_key()
    std::unordered_map<uint32_t, Line> lines;      // by server
    int64_t cached = 0;
    std::deque<Kept> kept;  // pages in the order in which they came
  };

  void call_metadata(uint32_t client, Picoseconds time, int64_t more_bytes = 0);
  uint64_t object_key(uint64_t file, uint32_t server) const { return file * servers() + server; }
  uint32_t server_of(uint64_t file, int64_t stripe) const;
  Piece piece_at(uint64_t file, Extent extent) const;  // its first
  int64_t bytes_on(uint64_t file, uint32_t server, int64_t file_bytes) const;
  int64_t end_of(const Object& object) const;
  Extent pages_of(Extent place) const;
  int64_t stripes_a_row() const;
  Object& object_of(uint32_t client, uint64_t file, uint32_t server);
  Line& line_of(const Object& object) { return clients_[object.client].lines[object.server]; }

  // Pages of a client.
  bool write_pages(Access& access, Object& object, Extent pages, const Piece& piece);
  bool read_pages(Access& access, Object& object, Extent pages, const Piece& piece);
  Extent pages_ahead(Object& object, Extent pages, Extent place) const;
  void keep(Object& object, Extent pages);
  bool may_keep(const Object& object, Extent pages) const;
  bool under_way(const Object& object, Extent pages) const;
  void fetch(Object& object, Extent pages);
  void wake(Object& object);
  void note_change(Object& object);

  // Requests for bytes.
  Rpc* next_write(Line& line);
  bool take_dirty(Object& object, const Line& line, Rpc& rpc) const;
  void send_what_may(uint32_t client, uint32_t server);
  void rpc_ends(Rpc& rpc);

  // Locks.
  static ClientLock* lock_for(Object& object, Extent pages, bool writes);
  static const ClientLock* leaving_lock(const Object& object);
  void ask_lock(Object& object, Extent pages, bool writes);
  void release_lock(Object& object, Number number);
  void return_locks(Object& object);
  void note_return(const ExtentLocks::Lock& lock);
  void tell_clients(uint32_t server, uint64_t file, const ExtentLocks::Outcome& outcome);

  PagedProfile profile_;
  std::vector<Client> clients_;
  std::vector<std::unordered_map<uint64_t, ExtentLocks>> lock_servers_;  // by file
  std::unordered_map<uint64_t, int64_t> ends_;  // of objects, by object_key()
  std::vector<uint64_t> versions_;              // by file: how often a server has got bytes of it
  Number next_lock_ = 1;
  struct CallBack {
    uint32_t for_client;
    Picoseconds since;
  };
  std::unordered_map<Number, CallBack> called_back_;  // locks that have not come back
  LockCounts lock_counts_;
  Recycled<Access> accesses_;
  Recycled<Rpc> rpcs_;
  Recycled<LockMessage> messages_;
};

}  // namespace forebay::sim
