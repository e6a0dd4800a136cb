#include "agent/claims.h"

namespace forebay::agent {

uint32_t Claims::owner_of(int64_t chunk) const {
  const std::lock_guard guard(mutex_);
  const auto known = owners_.find(chunk);
  return known == owners_.end() ? Owners::none : known->second;
}

uint32_t Claims::claim(int64_t chunk, uint32_t node) {
  const std::lock_guard guard(mutex_);
  return owners_.try_emplace(chunk, node).first->second;
}

std::shared_ptr<Claims> ClaimsOfFiles::of(uint64_t inode, uint64_t owners) {
  const std::lock_guard guard(mutex_);
  std::shared_ptr<Claims>& claims = files_[{inode, owners}];
  if (claims == nullptr) claims = std::make_shared<Claims>();
  return claims;
}

}  // namespace forebay::agent
