// forebay._core: signatures.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

void bind_pattern(nanobind::module_& module);

}  // namespace forebay
