// A file of which this node keeps what its ranks write as guests, whoever owns the bytes, until the
// ranks of all nodes hand them over together (engine/hand_over.h). If the cache has no room for
// guests before that, a rank gives them to the agents of their owners, which keep them dirty in
// their caches and unite them with what others wrote to the same pages.
//
// From then on the node's ranks reach the file through its owners (JobFile), so that no byte is
// both a guest and with its owner: whichever of the two went to storage first, a rank's latest
// bytes would not stay. Nodes do not agree on this, and no other node waits for it.
//
// A rank looks before its access whether guests are given, and again after it: then it makes the
// access once more, through the owners, after what it has left as a guest.
//
// Thread rule: one thread at a time (the caller holds its handle's lock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "agent/file_terms.h"
#include "agent/job_file.h"
#include "agent/owners.h"
#include "engine/access.h"
#include "engine/statistics.h"
#include "runtime/cache/cached_file.h"

namespace forebay::agent {

class Guests {
 public:
  // `here`: the file in this node's cache, which owns the part of number `self`. It outlives the
  // Guests.
  Guests(runtime::CachedFile& here, const Owners& owners, uint32_t self, FileTerms terms);

  // As CachedFile's.
  Status access(const Access& access, std::byte* memory, int64_t* moved);
  Status access(const Access& access, const Tiling& memory, int64_t* moved);
  Status write(int64_t offset, const std::byte* memory, int64_t length);
  Status read(int64_t offset, std::byte* memory, int64_t length, int64_t* moved);
  Status size(int64_t* bytes);
  // Whether the handle has written since the answer was last yes.
  bool has_written();
  // As JobFile's.
  Status commit_everywhere(bool forget);
  void forget_everywhere();
  Status leave(bool discard);

  // What this rank's accesses did in all caches; complete after leave().
  Statistics statistics() const;
  const FileDomains& domains() const { return owners_.domains; }

 private:
  template <typename Here, typename Through>
  Status carry_out(bool writes, int64_t* moved, Here here, Through through);
  Status give_if_full();
  Status give();
  Status reach_owners();

  runtime::CachedFile& here_;
  const Owners owners_;
  const uint32_t self_;
  FileTerms terms_;
  std::unique_ptr<JobFile> through_;  // once this rank has reached the owners
  bool goes_through_ = false;         // the node has no guests left
  bool gives_ = true;                 // false: an owner could not be reached
  int64_t noted_writes_ = 0;
  int64_t calls_[2] = {};  // the user's reads and writes
  int64_t bytes_[2] = {};
};

}  // namespace forebay::agent
