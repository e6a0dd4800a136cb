#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

// Adds the conversion of traces to touches of pages, and the simulation of caches, to
// forebay._core.
void bind_touches(nanobind::module_& module);

}  // namespace forebay
