// A file that ranks of several nodes have open as one. Every byte has one owner, a node, and is
// read and written in that node's cache: by the node's own ranks through shared memory, by others
// through its agent. So a rank sees what any rank wrote before, on all nodes, and no node ever has
// to forget bytes because another has changed them.
//
// Long runs would cross the network twice: to their owner, and from there to storage. A rank reads
// and writes them past all caches, after their owners have handed what they hold of them to
// storage. After a write the owners forget what they have read of them meanwhile. Where a file
// system shows a node what another has written only at an open, so go a node's own bytes alone.
//
// A file that only long runs reach needs no such questions. Its owners agree at the open that they
// hold nothing of it, and before a rank puts bytes into a cache, all owners are told. A long write
// looks twice at what its own node knows, before it and after it: a read that fetched old bytes
// meanwhile was announced before.
//
// As long as no rank of the job can write to the file, a node keeps copies of other owners' bytes.
// It gets pages from their owners, if nodes read the same bytes, and else from storage
// (owners_source.h). A handle that can write makes all owners open the file before
// its first access, and so ends that on their nodes. Collective reads ask owners all the same, so
// that storage is read once.
//
// Collective accesses exchange their bytes over the MPI library instead (owners_exchange.h), where
// the owner's node has a rank in the call.
//
// Thread rule: one thread at a time (the caller holds its handle's lock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agent/connection.h"
#include "agent/file_owners.h"
#include "agent/file_terms.h"
#include "agent/owners.h"
#include "agent/owners_exchange.h"
#include "agent/owners_source.h"
#include "domain/file_domains.h"
#include "engine/access.h"
#include "engine/foretold_reads.h"
#include "engine/owner_windows.h"
#include "engine/statistics.h"
#include "runtime/cache/cached_file.h"

namespace forebay::agent {

class JobFile {
 public:
  // `here`: the file in this node's cache, which owns the part of number `self` (or Owners::none).
  // It outlives the JobFile.
  JobFile(runtime::CachedFile& here, const Owners& owners, uint32_t self, FileTerms terms);
  ~JobFile();  // leave(true) if the file was not left

  // Makes sure that all owners know that they are owners, and hold nothing that this node's cache
  // has changed alone.
  Status meet_owners();
  // Tells all owners that bytes come into their caches, unless this node has told them.
  Status tell_owners();
  // The same, where ranks of all owner nodes call it and then wait for each other.
  void note_owners_told();
  // Whether a contiguous access of so many bytes goes past all caches, whoever owns them.
  bool is_long(int64_t bytes) const;
  // Whether owners are asked in collective accesses, and not their agents only.
  bool may_exchange() const { return !owners_.by_first_touch(); }
  // Whether no owner holds bytes of the file.
  bool nothing_held() const;

  // All ranks that have the file open, on all nodes, give its owners other parts: in three steps,
  // before which and between which they wait for each other. Nobody accesses it meanwhile. The
  // first may fail, and then nothing has changed.
  Status prepare_change(const FileDomains& domains);
  // By one rank of each node: storage gets what the node's cache holds. May fail likewise.
  Status commit_for_change();
  // By all ranks, if nothing has failed on any.
  void change();

  // Accesses take this way to the owners that it reaches, as long as all ranks of the handle are in
  // one collective call; null: they ask agents.
  void exchange_over(OwnersExchange* exchange);

  // As CachedFile's.
  Status access(const Access& access, std::byte* memory, int64_t* moved);
  Status access(const Access& access, const Tiling& memory, int64_t* moved);
  Status write(int64_t offset, const std::byte* memory, int64_t length);
  Status read(int64_t offset, std::byte* memory, int64_t length, int64_t* moved);
  Status size(int64_t* bytes);

  // Asks all owners, this node among them, to commit what they hold of the file; with `forget` also
  // to forget the clean bytes afterwards.
  Status commit_everywhere(bool forget);
  Status flush_everywhere();
  // The owners forget what they hold at and beyond `bytes`, dirty bytes too.
  void truncate_everywhere(int64_t bytes);
  // Asks all owners to forget their clean bytes, since the MPI library has written to the file.
  void forget_everywhere();

  // As long as nobody in the job can write to the file, pages that this node does not hold come
  // from their owners. `kept`: the owners have kept pages of the file since before; reads that use
  // no page come from there, too.
  void read_from_owners(bool kept);

  // Whether this node's pages may stay in its cache after the close of all nodes' ranks; and how.
  bool may_rest() const { return !owners_.by_first_touch() || only_read(); }
  runtime::CachedFile::Rest rest_as(const FileStamp& stamp) const {
    return {stamp, owners_.domains(), owners_.self()};
  }

  // Writes a list of bytes, which ascend in the file, into their owner's cache.
  Status give(uint32_t owner, std::span<const Request> bytes);
  // The other owners forget their clean bytes.
  Status refresh_others() {
    return within_memory([&] { return ask_others(Ask::forget); });
  }
  // Makes sure that all other owners can be reached and have the file open.
  Status reach_owners();

  // Leaves the other nodes' caches. What this rank wrote stays in them: their own ranks commit it.
  Status leave(bool discard);

  // What this rank's accesses did in all caches; complete after leave().
  Statistics statistics() const;
  const FileDomains& domains() const { return owners_.domains(); }
  Owners owners() const { return owners_.owners(); }
  // The bytes of this rank's accesses that each owner served, by its number. Those of a node that
  // owns nothing, and long runs, count nowhere.
  std::vector<int64_t> bytes_by_owner() const;

 private:
  // What is asked of one owner.
  struct Part {
    std::vector<std::byte> data;
    int64_t moved = 0;
    std::size_t taken = 0;  // bytes that the memory has got
    bool begun = false;
    bool exchanged = false;  // over exchange_
  };
  template <typename Memory>
  struct Windowed;

  void fetch_own_ahead();
  int64_t window_bytes(const Access& access) const;
  template <typename Memory>
  Status access_owners(const Access& access, Memory memory, int64_t* moved);
  template <typename Memory>
  Status move_window(const Windowed<Memory>& windowed, Memory memory, int64_t* moved);
  void make_room(bool writes);
  Status move_parts(bool writes, bool collective);
  Status begin_part(bool writes, uint32_t owner);
  Status end_part(bool writes, uint32_t owner);
  bool has_moved();
  void release_memory();
  Status move_here(bool writes, bool collective);
  template <typename Memory>
  Status deliver(Memory memory, int64_t* moved);
  template <typename Memory>
  Status access_here(const Access& access, const Memory& memory, int64_t* moved);
  template <typename Memory>
  Status bypass(bool writes, Extent extent, Memory memory, int64_t* moved);
  bool past_caches(int64_t bytes) const;
  bool others_may_hold() const;
  Status find_long(const Extent& run, bool writes, int64_t* bytes);
  bool all_here(const Access& access);
  bool only_read() const;
  bool served_here(const Access& access);
  bool is_whole(int64_t moved, int64_t bytes) const;
  Status tell_before(const Access& access);
  // Carries out a user's access, and counts it.
  template <typename Act>
  Status counted(const Access& access, const int64_t* moved, Act act);
  void foretell(const Access& access);
  void put_in_order(std::vector<uint32_t>& asked) const;
  std::span<const std::byte> answer_of(uint32_t asked) const;
  Status ask_others(Ask ask, int64_t value = 0, int64_t* most = nullptr, Status* refusal = nullptr);

  runtime::CachedFile& here_;
  FileOwners owners_;
  const bool close_to_open_;  // Storage::close_to_open()
  bool told_;                 // all owners know that caches hold bytes, or need not know
  // Between prepare_change() and change(): the owners' next parts.
  struct Change {
    FileOwners::Next parts;
    uint64_t identity = 0;  // Owners::identity()
  } next_;
  std::unique_ptr<OwnersSource> source_;  // of pages; null: storage
  bool owners_kept_pages_ = false;
  bool read_unowned_ = false;  // past the caches
  OwnersExchange* exchange_ = nullptr;
  bool left_ = false;
  Extent latest_here_{0, 0};  // a chunk of this node
  // Of the window under way. Little of it is kept, so that small accesses need no memory again and
  // again, and large ones do not keep a window for each owner.
  OwnerWindow window_;
  std::vector<Part> parts_;  // by number of who is asked
  ForetoldReads foretold_;
  int64_t calls_[2] = {};  // the user's reads and writes
  int64_t bytes_[2] = {};
  int64_t asked_bytes_ = 0;  // that other nodes own
  int64_t exchanged_bytes_ = 0;
  int64_t asked_questions_ = 0, exchanged_questions_ = 0;
  int64_t read_of_others_ = 0;  // both, of reads
  int64_t storage_bytes_for_others_ = 0;
  std::vector<int64_t> bytes_of_others_;  // both, by owner
};

}  // namespace forebay::agent
