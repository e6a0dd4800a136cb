#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

// Adds the reading of traces to forebay._core.
void bind_trace(nanobind::module_& module);

}  // namespace forebay
