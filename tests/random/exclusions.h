// What the plain MPI libraries get wrong, so that a run without Forebay leaves it out.
#pragma once

#include <string_view>

#include "generator.h"

namespace random_io {

// Disables in `features` what the library that calls itself `library_version` is known to fail;
// unless `plain`, only what fails with a cache in front of it, too.
void exclude_known_bugs(std::string_view library_version, bool plain, Features& features);

}  // namespace random_io
