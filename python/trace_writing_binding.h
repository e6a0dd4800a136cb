#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

// Adds the writing of trace files to forebay._core.
void bind_trace_writing(nanobind::module_& module);

}  // namespace forebay
