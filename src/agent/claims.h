// With domain=first-touch: the record that a home keeps of the nodes that own its chunks, since
// they were the first to write to them. The agent has it, and keeps it until it ends: bytes stay
// with their owner, whoever closes the file and opens it again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "agent/owners.h"

namespace forebay::agent {

// The owners of one file's chunks. Any thread may use it.
class Claims {
 public:
  // Owners::none: no node has written to the chunk.
  uint32_t owner_of(int64_t chunk) const;
  // Gives the chunk to the node if it has no owner. Returns the owner.
  uint32_t claim(int64_t chunk, uint32_t node);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<int64_t, uint32_t> owners_;  // by number of the chunk
};

// Of all files. Any thread may use it.
class ClaimsOfFiles {
 public:
  // The claims of the file with this inode, under this set of owners (Owners::identity()). Files of
  // several file systems may share them: every byte has one owner then, too.
  std::shared_ptr<Claims> of(uint64_t inode, uint64_t owners);

 private:
  std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<Claims>> files_;
};

}  // namespace forebay::agent
