// The views of a job, as Python hands them around.
#pragma once

#include "trace/views.h"

namespace forebay {

using trace::Views;

}  // namespace forebay
