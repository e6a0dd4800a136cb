// Files that processes leave in the folder of `forebay run` (FOREBAY_RUN_DIR), which tells the user
// in the end what they say.
#pragma once

#include <string>

namespace forebay::mpiio {

// Whether there is such a folder on this node, and it can be written to.
bool run_is_watched();

// Notes that a file was opened and not cached.
void mark_used();

// Note that a file was cached, or why it was not. `reason`: a short name; `text`: the explanation.
// For each reason the first text is kept.
void mark_cached();
void mark_uncached(const char* reason, const std::string& text);

// Notes the job on which the processes have agreed.
void tell_job(const std::string& job);

}  // namespace forebay::mpiio
