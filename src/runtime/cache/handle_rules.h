// The engine's rules for a handle, as the user's options say.
#pragma once

#include "engine/cache_handle.h"
#include "options/options.h"

namespace forebay::runtime {

HandleRules rules_of(const Options& options);

}  // namespace forebay::runtime
