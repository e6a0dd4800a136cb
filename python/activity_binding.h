// forebay._core: when files were read and written.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

void bind_activity(nanobind::module_& module);

}  // namespace forebay
