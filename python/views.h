// The views of a job, as an object of Python.
#pragma once

#include "trace/views.h"

namespace forebay {

using trace::Views;

}  // namespace forebay
