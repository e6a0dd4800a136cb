// Turns the user's options into the engine's rules for a handle.
#pragma once

#include "engine/cache_handle.h"
#include "options/options.h"

namespace forebay::runtime {

HandleRules rules_of(const Options& options);

}  // namespace forebay::runtime
