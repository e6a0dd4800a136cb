// How a file is to be opened in the cache of another node.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/owners.h"
#include "options/options.h"
#include "runtime/cache/cached_file.h"

namespace forebay::agent {

struct FileTerms {
  std::string path;    // absolute
  uint64_t inode = 0;  // of the file that it named when the rank opened it; 0: not known
  runtime::OpenMode mode = runtime::OpenMode::read_only;
  Options options;                // those that are given for each file
  std::vector<std::byte> owners;  // Owners, encoded

  // As bytes, and back. Empty: these bytes are no terms.
  std::vector<std::byte> encoded() const;
  static std::optional<FileTerms> decoded(std::span<const std::byte> bytes);
};

}  // namespace forebay::agent
