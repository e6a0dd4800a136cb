// forebay._core: the counts of the runtime's caches, replayed from traces of them.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

void bind_replay(nanobind::module_& module);

}  // namespace forebay
