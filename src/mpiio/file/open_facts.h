// What ranks of several nodes tell each other when they open a file together. A rank learns 8 bytes
// of each rank and some 200 of each node, and sums of the rest: so jobs may have many ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/address.h"
#include "mpiio/file/handle.h"
#include "mpiio/file/stripes.h"

namespace forebay::mpiio {

// Of a node, as its first rank knows it. Integers of 64 bits only.
struct NodeFacts {
  int64_t page_size = 0;
  int64_t close_to_open = 0;  // 1: its client of the file system keeps bytes
  Stripes stripes;
  agent::Address agent;
};

struct OpenFacts {
  std::vector<NodeFacts> nodes;        // in the order of their first ranks
  std::vector<uint32_t> node_of_rank;  // its number in `nodes`
  bool first = false;                  // no lower rank is on this rank's node
  int64_t ranks_here = 0;              // on this rank's node

  // Every node has an agent that all ranks can call, and sees the same file.
  bool fits = false;
  int64_t lines = 0;         // agents that every rank can have connections with
  int teller = -1;           // the lowest rank whose node knows owners of the file; -1: none does
  bool same = true;          // those that nodes know are the same
  bool one_session = false;  // CachedFile::kept_session() is the same everywhere, and not 0
  uint64_t kept = 0;         // CachedFile::kept_owners(), if it is the same everywhere
  bool directory = false;    // all ranks know the job's
};

// Called by all ranks of a handle. Empty, on all of them: one has no memory.
std::optional<OpenFacts> gather_facts(const Handle& handle);

}  // namespace forebay::mpiio
