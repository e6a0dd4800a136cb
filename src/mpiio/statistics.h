// Statistics of this process's files by name, and the report at MPI_Finalize (FOREBAY_STATS,
// FOREBAY_STATS_JSON).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mpiio/handle.h"

namespace forebay::mpiio {

using FileStatistics = std::pair<std::string, runtime::Statistics>;

// Adds what a handle that is being closed did.
void record_statistics(Handle& handle);

// Every file of this process, open handles included, in the order of their first close or open.
std::vector<FileStatistics> statistics_by_file();

// If asked for: rank 0 of MPI_COMM_WORLD prints a table to stderr and writes the JSON file, both
// summed over all ranks. Waits for all ranks.
void report_statistics();

}  // namespace forebay::mpiio
