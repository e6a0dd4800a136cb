// Read-ahead by the reads of an earlier run of the same program (option predict_from).
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// Counts an open of the file, under the name that the program gives: the opens of a run correspond
// to those of the earlier run in their order.
void count_open(const char* name);

// After that, if the handle's options name a trace: lets its read-ahead follow what the process
// with this process's rank read through the corresponding open. What the trace lacks is told once
// on a node; the handle then predicts as usual.
void follow_earlier_run(Handle& handle);

}  // namespace forebay::mpiio
