// Tells the user the runtime's notices, one line each on standard error.
#pragma once

#include "runtime/node/notices.h"

namespace forebay::mpiio {

runtime::Notices& notices();

}  // namespace forebay::mpiio
