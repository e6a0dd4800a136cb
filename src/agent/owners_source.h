// Where a node that only reads a file gets other owners' bytes from: from their caches, through
// their agents. An owner fetches what it lacks, so that storage is asked once for all nodes. The
// node keeps what it gets as copies.
//
// That is worth it where nodes read the same bytes, or where owners have kept pages of the file
// from before. Of a file with kept pages, an owner that has lost most of them is asked no more. Of
// any other file, nobody is asked any more once most bytes turned out to be in no owner's cache:
// then each node reads parts of its own; and what a handle reads first comes from storage, so that
// a file of which little is read needs no connection. An owner that cannot be reached is asked no
// more, either: storage has the same bytes.
//
// Where owners have kept nothing, threads of a process do not wait for each other here: one that
// comes while another asks reads from storage.
//
// It has connections of its own. A rank that has a question under way reads its own node's cache
// meanwhile, where it may wait for the helper thread's reads, which come through here. And the
// owner waits for nobody who fills a page, but for a moment (Ask::read_held): two nodes that fill
// pages from each other's caches would wait for each other.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "agent/owners.h"
#include "agent/remote_file.h"
#include "domain/file_domains.h"
#include "runtime/cache/cached_file.h"
#include "storage/storage.h"

namespace forebay::agent {

struct FileTerms;

// Thread rule: any member from any thread.
class OwnersSource final : public Storage {
 public:
  // `here`: the file in this node's cache, which is owner `self` or none. `kept`: the owners have
  // kept pages of the file.
  OwnersSource(runtime::CachedFile& here, const Owners& owners, uint32_t self,
               std::shared_ptr<const FileTerms> terms, bool kept);

  Status size(int64_t* bytes) override { return here_.storage().size(bytes); }
  Status flush() override { return here_.storage().flush(); }

  // The same owners have other parts from now on.
  void change(const FileDomains& domains, const std::shared_ptr<const FileTerms>& terms);
  // Leaves the owners' caches.
  void leave();
  // What came from other nodes.
  int64_t bytes() const { return bytes_.load(); }
  int64_t questions() const { return questions_.load(); }
  // What of it they had in their caches.
  int64_t held_bytes() const { return held_bytes_.load(); }
  // How many requests of its transfers did not become requests to storage here.
  int64_t spared_requests() const { return spared_requests_.load(); }
  // What this did in the caches of owners; complete after leave().
  Statistics statistics() const;

 private:
  struct Owner {
    std::unique_ptr<RemoteFile> file;  // null: it is not asked
    int64_t moved_bytes = 0, held_bytes = 0;
    bool begun = false;
  };
  struct Piece;

  void start(Transfer& transfer) override;
  void close(Owner& owner);
  void ask(std::vector<Piece>& pieces);
  void take_answers(std::vector<Piece>& pieces);
  Status read_storage(std::vector<Piece>& pieces, StorageCounters& counters);
  void read_storage(Transfer& transfer) const;

  runtime::CachedFile& here_;
  const uint32_t self_;
  const bool kept_;
  mutable std::mutex mutex_;
  FileDomains domains_;        // (mutex)
  std::vector<Owner> owners_;  // (mutex)
  Statistics counted_;         // (mutex)
  std::atomic<bool> begun_{false}, asks_{true};
  std::atomic<int64_t> bytes_{0}, held_bytes_{0}, questions_{0}, spared_requests_{0};
};

}  // namespace forebay::agent
