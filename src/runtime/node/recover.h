// Finds the bytes that killed jobs left on this node, and commits or discards them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/node/own_change.h"

namespace forebay::runtime {

struct LeftFile {
  std::string path;
  int64_t bytes = 0;    // bytes that the file lacked
  std::string problem;  // why it still lacks them; "" if it has them now
  bool told = false;    // an earlier recovery could not commit them either
};

struct LeftCache {
  std::string registry;    // path of the registry's segment
  std::string job;         // name of the job
  bool in_use = false;     // some of its processes live: nothing was done
  bool cared_for = false;  // the node's committer, or another recovery, is at work on it
  std::string problem;     // why it could not be looked at; "" otherwise
  std::vector<LeftFile> files;
};

// Joins the recoveries of several nodes: gives the notes of this node to all, and returns the notes
// of all, when each has called it. Each calls it equally often; an exception ends the recovery.
using Exchange = std::function<std::vector<OwnChange>(const std::vector<OwnChange>&)>;

struct RecoverSettings {
  std::string arena_dir;  // "" for /dev/shm
  std::string job;        // caches of this job only; "" for all of the user's
  std::string except;     // path of a registry that is left out
  bool commit = true;     // false: only list what is there
  bool force = false;     // commit even to files that others have changed since
  Exchange exchange;      // null: this node recovers alone. Listing needs none
};

// Goes through the caches of this user that no living process uses. It may be interrupted and
// repeated: a cache is removed only when all its bytes are in their files.
std::vector<LeftCache> recover(const RecoverSettings& settings);

// Drops bytes for good: those of a file, chosen by its registry and path, or with the path ""
// everything in a registry's cache, even one that cannot be read. Returns for each cache the files
// that were dropped. A cache that is in use or cared for is left alone.
using Chosen = std::vector<std::pair<std::string, std::string>>;
std::vector<LeftCache> discard(const std::string& arena_dir, const Chosen& chosen);

}  // namespace forebay::runtime
