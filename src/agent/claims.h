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
#include "runtime/node/registry.h"

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
  // The file's claims, under this set of owners (Owners::identity()).
  std::shared_ptr<Claims> of(const runtime::FileIdentity& file, uint64_t owners);

 private:
  std::mutex mutex_;
  std::map<std::pair<runtime::FileIdentity, uint64_t>, std::shared_ptr<Claims>> files_;
};

}  // namespace forebay::agent
