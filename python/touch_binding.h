#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

// Adds traces as touches of pages, and their simulation, to forebay._core.
void bind_touches(nanobind::module_& module);

}  // namespace forebay
