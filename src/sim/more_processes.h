// The same job with more processes than its log has: what the log's processes do follows a rule,
// and the rule gives what further ones would do.
//
// A file has a rule if those of its processes that make the same calls (most of them) are at places
// that grow evenly with the process, or with the row of a grid of processes: the parts of all
// processes then lie beside each other, part after part. With more processes such a sequence of
// parts becomes longer, and what follows it in the file moves. Each process does as much as before.
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
  uint32_t shared = 0;  // files that further processes share with the log's
  std::vector<Left> left;
  uint32_t first_own = 0;  // the number of own[0]; the others follow it
  std::vector<Own> own;
};

// The log with processes 0 to `processes` - 1, which must be more than it has. Nothing: these make
// more than `most_accesses`.
std::optional<MoreProcesses> more_processes(const AccessLog& log, uint32_t processes,
                                            uint64_t most_accesses);

}  // namespace forebay::sim
