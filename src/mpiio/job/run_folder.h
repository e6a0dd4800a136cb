// Word that processes leave for `forebay run`, which tells the user in the end (FOREBAY_RUN_DIR).
#pragma once

#include <string>

namespace forebay::mpiio {

// Whether there is one who reads it, on this node.
bool run_is_watched();

// MPI-IO went through Forebay.
void mark_used();

// A file was cached, or was not for a reason of that name, which `text` tells; the first of all is
// told of.
void mark_cached();
void mark_uncached(const char* reason, const std::string& text);

// The processes have agreed on this job.
void tell_job(const std::string& job);

}  // namespace forebay::mpiio
