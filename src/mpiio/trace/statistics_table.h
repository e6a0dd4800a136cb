// The statistics of a job as a text for people, in 80 columns.
#pragma once

#include <string>

#include "mpiio/trace/statistics.h"

namespace forebay::mpiio {

// Tables of calls and pages, what was not cached and why, notes, and a conclusion.
std::string statistics_table(const JobStatistics& job);

}  // namespace forebay::mpiio
