// The statistics of a job for a person to read, in 80 columns.
#pragma once

#include <string>

#include "mpiio/trace/statistics.h"

namespace forebay::mpiio {

// Tables of calls and pages, what was not cached and why, notes, and what it comes to.
std::string statistics_table(const JobStatistics& job);

}  // namespace forebay::mpiio
