// Where a node that only reads a file gets other owners' bytes from, if these have kept pages of it
// from before: from their caches, through their agents. The node keeps what it gets as copies. An
// owner that has lost most of its pages is asked no more, and neither is one that cannot be
// reached: storage has the same bytes.
//
// It has connections of its own. A rank that has a question under way reads its own node's cache
// meanwhile, where it may wait for the helper thread's reads, which come through here. And the
// owner waits for nobody who fills a page (Ask::read_held): two nodes that fill pages from each
// other's caches would wait for each other.
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
  // `here`: the file in this node's cache, which is owner `self` or none.
  OwnersSource(runtime::CachedFile& here, const Owners& owners, uint32_t self,
               std::shared_ptr<const FileTerms> terms);

  Status size(int64_t* bytes) override { return here_.storage().size(bytes); }
  Status flush() override { return here_.storage().flush(); }

  // Leaves the owners' caches.
  void leave();
  // What came from other nodes.
  int64_t bytes() const { return bytes_.load(); }
  int64_t questions() const { return questions_.load(); }
  // What of it they had in their caches.
  int64_t held_bytes() const { return held_bytes_.load(); }
  // What this did in the caches of owners; complete after leave().
  Statistics statistics() const;

 private:
  struct Owner {
    std::unique_ptr<RemoteFile> file;  // null: it is not asked
    int64_t asked_bytes = 0, held_bytes = 0;
    bool begun = false;
  };
  struct Piece;

  void start(Transfer& transfer) override;
  void close(Owner& owner);
  void ask(std::vector<Piece>& pieces);
  void take_answers(std::vector<Piece>& pieces);
  Status read_storage(std::vector<Piece>& pieces);

  runtime::CachedFile& here_;
  const FileDomains domains_;
  const uint32_t self_;
  mutable std::mutex mutex_;
  std::vector<Owner> owners_;  // (mutex)
  Statistics counted_;         // (mutex)
  std::atomic<int64_t> bytes_{0}, held_bytes_{0}, questions_{0};
};

}  // namespace forebay::agent
