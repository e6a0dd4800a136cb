// The same job with more processes than its log has: what the log's processes do follows a rule,
// and the rule gives what further ones would do.
//
// Calls of one kind (read or write, collective or not, so many bytes) that most of a file's
// processes make, and equally often, follow a rule if their places grow evenly with the process, or
// with the row of a grid of processes: the parts of all processes then lie beside each other, part
// after part (some gaps may lie between). With more processes such a sequence of parts becomes
// longer, and what follows it in the file moves. Each process does as much as before. Other calls
// stay with the processes that make them. A file has a rule if the calls that follow one have half
// of the bytes of what most do.
//
// Where the processes' parts of an array are of unequal sizes and lie behind each other in the
// order of the processes, further ones have parts as large as those of the log's, in turn.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/access_log.h"

namespace forebay::sim {

struct MoreProcesses {
  // A file that keeps its processes, since they follow no rule.
  struct Left {
    uint32_t file = 0;
    std::string_view why;
  };
  // A file that a further process has for itself, as a process of the log has `of`.
  struct Own {
    uint32_t of = 0;
    uint32_t process = 0;
  };

  AccessLog log{0};
  uint32_t shared = 0;   // files that further processes share with the log's
  uint32_t unequal = 0;  // of these, files with parts of unequal sizes
  // In these, calls that only some processes make, or at places without a rule: further ones do not
  // make them.
  uint64_t kept_accesses = 0;
  uint64_t kept_bytes = 0;
  std::vector<Left> left;
  uint32_t first_own = 0;  // the number of own[0]; the others follow it
  std::vector<Own> own;
};

// The log with processes 0 to `processes` - 1, which must be more than it has. Nothing: these make
// more than `most_accesses`.
std::optional<MoreProcesses> more_processes(const AccessLog& log, uint32_t processes,
                                            uint64_t most_accesses);

}  // namespace forebay::sim
