// forebay._core: sums over a trace's accesses.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

void bind_sums(nanobind::module_& module);

}  // namespace forebay
