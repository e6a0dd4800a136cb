// A file seen through the cache by one open handle of one process. It knows no MPI: src/mpiio turns
// MPI calls into accesses and calls it; tests use it from plain processes and threads.
//
// Thread rule: one CachedFile is used by one thread at a time (the caller holds its handle's lock);
// different CachedFiles, in one process or several, may act on the same file at the same time.
//
// Memory that the system refuses is a failure like any other (Code::no_memory): no member throws.
// Members that must not fail (those that forget bytes or leave the file) need no memory.
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

#include "channel/list_exchange.h"
#include "domain/file_domains.h"
#include "engine/cache_handle.h"
#include "engine/statistics.h"
#include "extent/extent.h"
#include "extent/status.h"
#include "options/options.h"
#include "runtime/cache/arena.h"
#include "runtime/cache/scattered_memory.h"
#include "runtime/cache/seat_pace.h"
#include "runtime/cache/turn.h"
#include "runtime/node/clock.h"
#include "runtime/node/registry.h"
#include "storage/storage.h"

namespace forebay::runtime {

class NodeMember;  // this process as a member of its node: registry, arenas, helper thread
struct OpenStorage;
struct FoundFile;

// The process as a member of its node, joined at first use; nullptr (and a Status) if that fails.
NodeMember* node(const Options& process_options, Status* status);
// Ends the helper threads and unmaps the segments. The last process to leave removes them. Called
// at MPI_Finalize.
void leave_node();
// Makes what the first open on the node would make: the tables' first entries, and an arena for
// files that are opened with these options.
void make_ready(NodeMember& node, const Options& options);
// Whether the node's caches keep bytes that storage refused.
bool node_keeps_bytes();
// The most shared memory, in bytes, that this process has seen its caches take: the cache that the
// node's processes share (scope node), or its own (scope process).
int64_t highest_memory(Scope scope);

// A number that identifies this node's shared memory: equal for all processes that have joined it.
int64_t memory_identity(NodeMember& node);

// Whether no process of the node has called this with the same `number` (not 0) before. The
// registry remembers few numbers; when it is full the answer is false.
bool first_notice(NodeMember& node, uint64_t number);

enum class OpenMode : uint8_t { read_only, write_only, read_write };

class CachedFile final : private HandleServices {
 public:
  // Joins (or creates) the node's entry of the file that `path` names; the file must exist. If
  // another handle has the file open, its page size, page kind and capacity hold for this one too,
  // and `options()` returns them. `opener` opens a storage that needs more than the path. Clean
  // pages from before are dropped, as the file may have changed; unless its stamp says that it has
  // not, and that is enough for options.keep.
  static std::unique_ptr<CachedFile> open(const std::string& path, OpenMode mode,
                                          const Options& options, Status* status,
                                          const StorageOpener& opener = {});
  // The same for a file with this inode that a process of this node has open. It was opened as
  // `path`, which need not name it any more. Null, with *status as it was: no process has it open.
  static std::unique_ptr<CachedFile> open_again(const std::string& path, uint64_t inode,
                                                OpenMode mode, const Options& options,
                                                Status* status);
  ~CachedFile();  // calls close(true) unless close() was called

  const Options& options() const { return options_; }
  const FileIdentity& identity() const { return entry_->identity; }
  // The path without links and from the root, by which this handle found the file.
  const std::string& path() const { return path_; }
  // From now on this handle uses those values of `changed` that may change on an open file.
  void change_options(const Options& changed);
  // From now on read-ahead follows these reads of an earlier run, each one contiguous run.
  void predict_from(std::shared_ptr<const pattern::Signature> reads);
  // From now on the ranks of several nodes write to the file, and hand over what they wrote.
  void share_with_nodes(bool shares);
  // Only these bytes are fetched ahead from now on.
  void fetch_ahead_of(std::shared_ptr<const OwnPart> part);
  // The memory limit of this node's control groups if it has made the cache smaller than was asked
  // for (options() returns its size); otherwise 0.
  int64_t bounding_limit() const { return bound_by_; }
  // The option cache_size as the user gave it, whatever this node's memory allows.
  int64_t wanted_cache_size() const { return wanted_cache_size_; }

  // Carries out an access. Its bytes lie in order at `memory`; in the second form they are the data
  // bytes of the tiling `memory`, whose offsets are addresses. *moved: the bytes before the end of
  // file.
  Status access(const Access& access, std::byte* memory, int64_t* moved);
  Status access(const Access& access, const Tiling& memory, int64_t* moved);
  // The same for contiguous bytes of the file.
  Status write(int64_t offset, const std::byte* memory, int64_t length);
  Status read(int64_t offset, std::byte* memory, int64_t length, int64_t* moved);
  // As those of CacheHandle.
  std::span<const Extent> note_read(Extent extent) { return handle_->note_read(extent); }
  void fetch_foretold(std::span<const Extent> extents) { handle_->fetch_foretold(extents); }
  // The same past this cache, which agrees with storage afterwards. *moved: as access();
  // `began_ns`: when the caller began to see to these bytes (now_ns()).
  Status bypass(bool writes, Extent extent, std::byte* memory, int64_t* moved,
                int64_t began_ns = now_ns());
  Status bypass(bool writes, Extent extent, ScatteredMemory memory, int64_t* moved,
                int64_t began_ns = now_ns());
  // Touches pages for collective accesses of which the policy is not told
  // (CacheHandle::touch()), at most bytes_a_round() at a time. A failure shows at these accesses.
  void touch(Extent range, bool writes);
  int64_t bytes_a_round() const;
  // For another node: reads what this cache holds from there, fetches what it lacks, and waits for
  // no other process that reads, but for a moment. *held: how many of the bytes the cache held, or
  // was fetching.
  Status read_held(Extent extent, std::byte* memory, int64_t* moved, int64_t* held);
  // From now on this handle's pages come from there, and with `past_too` its reads past the cache;
  // null: from its storage again. It outlives the handle, or another call of this. What is fetched
  // ahead comes from one of `domains`' owners at a time.
  void read_from(Storage* source, bool past_too = true, const FileDomains& domains = {});
  Storage& storage() const;
  // Before and after accesses of other nodes past their caches: hands the dirty bytes of `range` to
  // storage; with `forget`, the cache forgets its clean bytes then.
  Status settle(Extent range, bool forget);

  // The size a reader would see: storage's size and uncommitted bytes.
  Status size(int64_t* bytes);

  // Hands to storage every byte of the file that was written through any handle that shares this
  // cache.
  Status commit();
  // The same, but other nodes need not see them yet (show_other_nodes()).
  Status commit_unseen();
  // The same for the bytes of this handle and of those that write under the same number.
  Status commit_own();
  // From now on this handle writes under `number`: one for the ranks that opened the file together,
  // so that each can commit the bytes of all. At first every handle has a number of its own.
  void write_as(uint32_t number);
  // How far handles that share this cache may be apart in a collective access.
  int64_t pace_bytes() const;
  // The pace of the ranks that opened the file together, after write_as(). It is used as long as
  // this handle is open.
  std::unique_ptr<SeatPace> make_pace();
  // Whether a close of `handles` handles need not commit: others have the file open, and
  // commit_at_close=last.
  bool leaves_commit_to_others(int64_t handles) const;
  // The dirty bytes in this cache, of all its files, counted in whole pages.
  int64_t dirty_bytes() const;
  // Notes that another handle has committed what this one wrote.
  void note_stored();
  // fsync of storage (after commit()).
  Status flush_storage();
  // Where the file system shows nodes each other's bytes only at an open: what this node has handed
  // to it is shown to others now, and what others have shown is read here from now on.
  Status show_other_nodes();
  void see_other_nodes();
  // Says that nodes own parts of the file (agent/owners.h): `owners` identifies them, `record`
  // tells who they are. *news: this node's cache had the file alone until now, or by owners that no
  // handle uses. Code::unsupported: it has other owners.
  Status join_owners(uint64_t owners, std::span<const std::byte> record, bool* news);
  // The same when all handles of the job change the owners, in three steps, between which their
  // ranks wait for each other. First every node can read who they will be.
  Status keep_owners(uint64_t owners, std::span<const std::byte> record);
  // Then one handle of each node hands the dirty bytes to storage. Only pages stay that node `self`
  // owned and will own: what lies in others, others have changed or will.
  Status commit_for_owners(const FileDomains& before, const FileDomains& after, uint32_t self);
  // Then they are the owners.
  void change_owners(uint64_t owners) { entry_->owners.store(owners, std::memory_order_release); }
  // What identifies the owners; 0: this node's cache has the file alone.
  uint64_t owners() const { return entry_->owners.load(std::memory_order_acquire); }
  // Whether a handle that can write has used this cache since the file came into it, or, as far as
  // this node knows, the cache of another node.
  bool writable() const { return entry_->writable.load(std::memory_order_acquire) != 0; }
  // Whether one had when this handle was opened.
  bool found_writable() const { return found_writable_; }
  void note_writer() { entry_->writable.store(1, std::memory_order_release); }
  // Handles of this node's cache that have the file open.
  int64_t handles() const { return entry_->handles.load(); }
  // What the caches of its owners hold, as far as this node knows.
  Held held() const { return entry_->held.load(); }
  // Raises it to `held`. False: this node knew as much.
  bool note_held(Held held);
  // Who they are, as join_owners() was told on this node; empty: nobody has told.
  std::vector<std::byte> owners_record() const { return record_of(owners()); }
  // The owners of the file when its pages came to rest, if kept_session() tells that they may be
  // used; 0: it had none.
  uint64_t kept_owners() const { return kept_session() == 0 ? 0 : entry_->rested_owners.load(); }
  // Who owners are that this node knows; empty: it does not.
  std::vector<std::byte> record_of(uint64_t owners) const;
  // Forgets the file's clean bytes; the next read asks storage.
  void drop_clean();
  // Forgets the cached bytes at and beyond `bytes`, dirty ones too. Storage is not touched. The
  // caller makes sure that no other handle writes meanwhile. It calls this before storage shrinks
  // (a later commit would bring the bytes back) and again after (read-ahead may have fetched them
  // again).
  void truncate_cache(int64_t bytes);

  // Notes that the MPI library has changed the file past the cache.
  void note_own_change();

  // The turn to hold during an access (runtime/cache/turn.h). `numbered`: the access is recorded,
  // and its record needs a number. After note_shared() its parts take turns, in each owner's cache.
  Turn access_turn(bool numbered);
  // The turn to hold during such a part. With the option `deterministic` it notes the part as a
  // step of this cache. `past`: as bypass().
  class PartTurn {
   public:
    PartTurn(CachedFile& file, const Access& part, bool past = false);

   private:
    Turn turn_;
  };
  // Notes that other nodes own bytes of the file, and that this handle uses these owners. `cache`:
  // the number by which other nodes' ranks name this cache (NumberedStep::cache); 0: they do not
  // use it, or this handle is an agent's.
  void note_shared(uint64_t cache = 0);

  // Says whether this handle wants write-through: every write is in storage before it returns, and
  // reads are not kept. As long as one handle wants it, it holds for all handles of the file.
  Status set_write_through(bool on);

  // Accesses of atomic mode exclude each other over all handles that share this cache.
  void lock_access();
  void unlock_access();

  // With handles of other nodes (engine/hand_over.h): guests go to their owners, and what the nodes
  // have written is in storage afterwards. One handle of each node calls it, while all ranks of
  // these handles wait.
  Status hand_over(const FileDomains& domains, ListExchange& nodes);
  // Whether this handle has written, or the node may have dirty bytes of the file, since
  // note_handed_over().
  bool wrote_since_hand_over();
  // Notes that all that this handle has written is in storage.
  void note_handed_over();
  // Whether this node keeps guests, until it has given them to their owners.
  bool keeps_guests() const { return entry_->guests.load() == GuestsAre::kept; }
  // CacheHandle's.
  bool lacks_room_for_guests() { return handle_->lacks_room_for_guests(); }
  Status commit_guests(Extent range, const FileDomains& domains, uint32_t self) {
    return handle_->commit_guests(range, domains, self);
  }
  // The node gives its guests to their owners, if it has not done so yet, and keeps none any more
  // (CacheHandle::give_guests()). `give(owner, bytes)` sends an owner's, and tells whether it has
  // them. `forget()` makes the owners forget their clean bytes, which are old where this node has
  // committed a guest. A failure: some bytes have not reached storage.
  using Give = std::function<Status(uint32_t owner, std::span<const Request> bytes)>;
  Status give_guests(const FileDomains& domains, uint32_t self, const Give& give,
                     const std::function<Status()>& forget);
  // The file's dirty pages, and those under commit, lie in it; empty: there are none.
  Extent dirty_region();

  // The time when all ranks of the job had the file open together before, if this node's cache has
  // kept pages from it that the file's stamp confirms; otherwise 0. It is the same on all nodes.
  int64_t kept_session() const;
  // What one handle of several nodes' ranks finds out, when all owners have committed the file, so
  // that its pages may stay in the caches of all nodes: the file's stamp before and after it was
  // marked. Not known: the pages leave.
  struct RestStamps {
    FileStamp before, after;
    // Whether nobody but the job, which last wrote to the file then, has changed it. What another
    // program writes before the job's last write, while the job has the file open, shows nowhere.
    bool explained_by(int64_t last_write_ns) const {
      return before == after || before.modified_ns <= last_write_ns;
    }
  };
  RestStamps stamps_to_rest();
  // When this node knows that the job last wrote to the file, by the clocks that give times to
  // files, in nanoseconds.
  int64_t last_write_ns() const;
  // How pages of a file of several nodes stay after the close: as of a file with that stamp, and
  // only those of which node `self` owns a part.
  struct Rest {
    FileStamp stamp;
    FileDomains domains;
    uint32_t self = 0;
  };

  // Leaves the file. Commits first what this handle has written, and the last handle on the node
  // commits all of the file; the clean pages stay, as options.keep says. With `discard` nothing is
  // committed, and the last handle to leave drops all pages. The handle is closed also after an
  // error. Pages of a file that has owners stay only with `of_nodes`.
  Status close(bool discard, const Rest* of_nodes = nullptr);

  Statistics statistics() const;
  int64_t read_storage_bytes() const { return statistics_.read_storage_bytes; }

 private:
  CachedFile() = default;
  HandleRules rules() const;
  Status enter(const std::string& path, OpenMode mode, const Options& options,
               const StorageOpener& opener);
  Status join_entry(const FoundFile& found, bool fresh, OpenMode mode);
  bool shares_all_writes() const;
  bool hides_from_nodes();
  void take_pages(bool local);
  void rest(const FileStamp& stamp, const Rest* of_nodes);
  // What leave_file() has done, or must be done before.
  enum class Left : uint8_t { unstamped, uncommitted, file };
  Left leave_file(const std::optional<FileStamp>& stamp, const Rest* of_nodes, bool discard,
                  const Status& status);
  Turn step_turn();
  void note_step(const Turn& turn, CacheStep step, int64_t argument, int64_t bytes = 0);
  void note_stored_size(Turn& turn);

  void commit_in_background(WriteBehind goal) override;
  void fetch_in_background(std::span<const Extent> extents) override;
  bool write_back_in_background() override;
  void cancel_background();
  CommitCost commit_cost() const override;
  void tell_of_memory() override;
  void fetch_ahead();
  std::vector<std::vector<Extent>> parts_to_fetch(std::vector<Extent> extents, bool at_once) const;
  void count_background(const Statistics& statistics);

  Options options_;
  std::shared_ptr<const pattern::Signature> earlier_reads_;
  std::shared_ptr<const OwnPart> part_;
  bool hands_over_ = false;  // HandleRules::hands_over
  int64_t bound_by_ = 0;
  int64_t wanted_cache_size_ = 0;
  NodeMember* node_ = nullptr;
  ArenaCache* cache_ = nullptr;
  FileEntry* entry_ = nullptr;
  uint32_t slot_ = 0;  // of the entry
  std::string path_;
  bool found_writable_ = false;
  bool finds_pages_ = false;  // the cache may have had pages of the file before
  bool same_ = false;         // the file's stamp confirms them
  bool takes_over_ = false;   // commits bytes that an earlier last handle could not
  Seat* seat_ = nullptr;
  uint32_t seat_number_ = 0;
  std::shared_ptr<OpenStorage> storage_;
  ArenaFile file_;
  std::optional<CacheHandle<ArenaDriver>> handle_;
  bool wants_write_through_ = false;
  bool shared_ = false;  // note_shared()
  Statistics statistics_;
  int64_t handed_over_bytes_ = 0;  // statistics_.write_bytes at the last hand-over
  mutable std::mutex background_mutex_;
  std::atomic<bool> closing_{false};  // the helper thread stops fetching ahead
  // Stand for the handle's jobs on the helper thread.
  struct {
    char commit, fetch, write_back;
  } jobs_{};
  FileDomains source_domains_;        // of read_from()
  std::vector<Extent> to_fetch_;      // predicted, not yet taken up by the helper thread
  Statistics background_statistics_;  // of work on the helper thread
};

// 64-bit words shared by the processes of a node, for shared file pointers. One process allocates a
// word and tells the others its index. A new word is zero.
class SharedWords {
 public:
  static int32_t allocate(NodeMember& node);  // -1: none left
  static std::atomic<int64_t>* at(NodeMember& node, int32_t index);
  static void release(NodeMember& node, int32_t index);
};

}  // namespace forebay::runtime
