// Random programs of the processes of nodes, from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/file_domains.h"
#include "extent/extent.h"
#include "sim/virtual_node.h"

namespace forebay::test {

struct Settings {
  CacheShape cache;
  HandleRules handles;
  int64_t commit_size_bytes = 0;
  int64_t bytes_worth_a_request = 0;
  uint32_t most_frames = 0;  // that get memory
  uint32_t ranks = 0;
  uint32_t nodes = 1;  // rank r is on node r modulo nodes
  const AssignmentSpec* domain = nullptr;
  int64_t domain_size_bytes = 0;
  uint32_t owning = 1;       // nodes that own bytes: the first ones
  uint32_t files = 1;        // that all ranks open
  int64_t file_bytes = 0;    // no access goes beyond
  int64_t first_bytes = 0;   // that a file has to begin with
  int64_t granule = 0;       // bytes in a row that one rank writes
  int64_t fails_one_in = 0;  // of storage's requests; 0: none fails
  int64_t steps_a_switch = 1;
  int64_t steps_a_pause = 0;
  bool last_commits = false;  // ranks leave what they wrote to the last that closes the file
  bool local = false;         // storage is believed to be of the node
  bool late_care = false;     // nobody takes the place of the dead before the others meet
  uint32_t aside = 0;         // kinds of calls that step aside to begin with (Aside)
  bool keeps_pages = false;   // pages outlive the close of their file
  bool keeps_pace = false;    // accesses of several pieces wait for each other (engine/pace.h)
  bool in_rounds = false;     // they go in rounds of domain_size_bytes, touched before
};

struct Operation {
  enum class Kind : uint8_t {
    write,
    read,
    commit,
    commit_own,
    drop_clean,
    write_through,
    write_back,
    // Close, and open again; with keeps_pages only when the rank uses the file next. The file may
    // have no handle meanwhile.
    reopen
  };
  Kind kind;
  uint32_t rank;   // from 0
  uint32_t file;   // from 0
  Extent extent;   // write: bytes of the rank's own; read: any
  int pieces = 1;  // of the extent's length, `stride` apart; they belong to one call
  int64_t stride = 0;
};

// A part of a program: the ranks carry out their operations, then wait for each other, and the
// nodes hand their bytes over.
struct Round {
  static constexpr int nobody = -1;
  static constexpr int anybody = -2;
  std::vector<Operation> operations;  // each rank's in order
  int64_t truncate_to = -1;           // afterwards; negative: not
  uint32_t truncated_file = 0;
  int node_dies = nobody;             // the node that dies while bytes are handed over
  int64_t node_dies_after_steps = 0;  // of its leader
  int dies = nobody;                  // the rank that dies meanwhile
  int64_t dies_after_steps = 0;       // its steps, or all ranks'; only those at a spot, if named
  sim::Fibers::Spot dies_at = sim::Fibers::Spot::other;
};

struct Program {
  Settings settings;
  std::vector<Round> rounds;
  std::size_t operations() const;
};

Program random_program(uint64_t seed, int operations);
std::string describe(const Program& program);

struct Outcome {
  std::string failure;  // "": nothing was wrong
  uint64_t digest = 0;  // of the run: two runs with equal digests were the same
  int64_t accesses = 0;
  uint64_t steps = 0;
  int64_t deaths = 0;
  int64_t waits_in_vain = 0;  // for I/O, that no signal has ended
  int64_t kept_pages = 0;     // of closed files, found by opens
  Statistics statistics;      // of the ranks
  Statistics background;      // of what they had done in the background
};

// Runs the program; `seed` chooses who goes on, how long storage takes and what fails.
Outcome run(const Program& program, uint64_t seed);

// The smallest program found, with at most `runs` runs, that still fails with this seed.
Program shrink(Program program, uint64_t seed, int runs);

}  // namespace forebay::test
