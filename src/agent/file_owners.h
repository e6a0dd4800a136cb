// Who owns which bytes of a file, as a rank knows it, and the agents of the other owners, as the
// rank asks them.
//
// With domain=first-touch an owner is not computed: the home of a chunk, a node, tells who has
// written to it first. A rank asks once for each chunk, and keeps the answer. A write to a chunk
// without an owner claims it for the rank's node, also where the write goes past the caches. So
// what storage holds of such a chunk does not change, and its home may serve reads of it.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "agent/connection.h"
#include "agent/file_terms.h"
#include "agent/owners.h"
#include "agent/remote_file.h"
#include "domain/file_domains.h"
#include "engine/cache_handle.h"
#include "engine/owner_windows.h"
#include "engine/statistics.h"

namespace forebay::agent {

class FileOwners {
 public:
  // `self`: the number of the part that this node owns, or Owners::none.
  FileOwners(const Owners& owners, uint32_t self, FileTerms terms);

  const FileDomains& domains() const { return domains_; }
  uint32_t self() const { return self_; }
  bool by_first_touch() const { return domains_.first_touch(); }
  const FileTerms& terms() const { return *terms_; }
  Owners owners() const { return *Owners::decoded(terms_->owners); }
  // What this node owns, as far as this rank knows; it grows.
  std::shared_ptr<const OwnPart> own_part() const { return own_part_; }
  // Other domains of the same nodes.
  struct Next {
    FileDomains domains;
    std::shared_ptr<const FileTerms> terms;
    std::shared_ptr<OwnPart> own_part;
  };
  Next next(const FileDomains& domains) const;
  // The owners have these parts from now on. The agents get to know them when they are asked again.
  void change(const Next& next);

  // Whose the byte is. Empty: nobody's, as far as this rank knows.
  std::optional<uint32_t> owner_of(int64_t offset) const;
  // The bytes at the beginning of the range that this node owns; of a read also those that nobody
  // owns. *unowned: there are such.
  Status find_own(const Extent& range, bool writes, int64_t* bytes, bool* unowned);
  // The owner, or else the home. This node is asked through its agent where only the agent knows
  // whether the byte has an owner: then the number is that of owners.
  uint32_t whom_to_ask(int64_t offset) const;
  // The agents that may be asked have numbers below this.
  std::size_t most_asked() const { return agents_.size(); }
  // The file as that agent has it; null: this node's cache is meant.
  RemoteFile* agent(uint32_t asked) const { return agents_[asked].get(); }

  // Learns the owners of the range's chunks from their homes, as far as this rank does not know
  // them. With `claim` this node becomes the owner where there is none.
  Status learn(const Extent& range, bool claim);
  // The same for those pieces that an agent has told, in its latest answer, to belong elsewhere.
  Status learn_moved(std::span<const OwnerWindow::Piece> pieces);

  // Asks all other owners. `most`: receives the largest value of their answers. `refusal`: receives
  // the failure of an owner that was reached.
  Status ask_all(Ask ask, int64_t value = 0, int64_t* most = nullptr, Status* refusal = nullptr);
  // Asks those that own bytes of the range, after learning them.
  Status ask_owners_of(const Extent& range, Ask ask, bool claim);
  // Closes the file at all agents that have it open.
  Status close(bool discard);

  // What the agents' caches did for this rank; complete after close().
  void add_statistics(Statistics* sum) const;
  void release_memory();

 private:
  template <typename Begin, typename End>
  Status ask_each(Begin begin, End end);
  template <typename Wanted>
  void collect(const Extent& range, Wanted wanted);
  Status take_owners(uint32_t asked, const Extent& range);

  FileDomains domains_;
  uint32_t self_;
  std::shared_ptr<const FileTerms> terms_;
  // By owner; null: this node. The last one is this node's agent, by first touch.
  std::vector<std::unique_ptr<RemoteFile>> agents_;
  // By first touch: the owners of chunks, as far as they are known. They never change.
  std::unordered_map<int64_t, uint32_t> known_;
  std::shared_ptr<OwnPart> own_part_;
  std::vector<uint32_t> asked_;  // at the moment
};

}  // namespace forebay::agent
