// forebay._core: conflicting accesses.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

void bind_conflicts(nanobind::module_& module);

}  // namespace forebay
