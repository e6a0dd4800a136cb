// forebay._core: the block-cache simulator.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

void bind_sim(nanobind::module_& module);

}  // namespace forebay
