#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

// Adds simulation to forebay._core.
void bind_simulation(nanobind::module_& module);

}  // namespace forebay
