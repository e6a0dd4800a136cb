// Word that processes leave for `forebay run`, which tells the user in the end (FOREBAY_RUN_DIR).
#pragma once

#include <string>

#include "mpiio/file/uncached.h"

namespace forebay::mpiio {

// Whether there is one who reads it, on this node.
bool run_is_watched();

// MPI-IO went through Forebay.
void mark_used();

// A file was cached, or was not; the first of a process and kind is told of.
void mark_cached();
void mark_uncached(Uncached why, const std::string& file);

// The processes have agreed on this job.
void tell_job(const std::string& job);

}  // namespace forebay::mpiio
