// Turns the user's options into the engine's settings.
#pragma once

#include "engine/cache_arena.h"
#include "engine/cache_handle.h"
#include "options/options.h"

namespace forebay::runtime {

HandleRules rules_of(const Options& options);
CacheShape shape_of(const Options& options);

}  // namespace forebay::runtime
