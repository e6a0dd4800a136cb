// What the runtime tells the user: a line each on standard error.
#pragma once

#include "runtime/node/notices.h"

namespace forebay::mpiio {

runtime::Notices& notices();

}  // namespace forebay::mpiio
