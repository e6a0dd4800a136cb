// forebay._core: what the runtime's caches count, from traces of it.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay {

void bind_replay(nanobind::module_& module);

}  // namespace forebay
