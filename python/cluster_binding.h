// The cluster simulator, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

void bind_cluster(nanobind::module_& module);

}  // namespace forebay
