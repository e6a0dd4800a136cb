// The reads that a process of an earlier run made, from its trace (option predict_from).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pattern/signature.h"

namespace forebay::earlier {

// What the process read through an open of the file, each run of bytes by itself.
struct OpenReads {
  std::string file;  // as the program named it
  pattern::Signature reads;
};

// The opens of the process with this rank, in order, from the latest of its traces in the folder.
// *problem: why there are none, or what the trace lacks; empty: it is complete.
std::vector<OpenReads> reads_of_rank(const std::string& folder, int64_t rank, std::string* problem);

}  // namespace forebay::earlier
