// Errors of the plain MPI libraries. A run without Forebay leaves out the features that have them.
#pragma once

#include <string_view>

#include "generator.h"

namespace random_io {

// Disables in `features` the known errors of the library that describes itself as
// `library_version`; if not `plain`, only those that a cache in front of the library does not
// avoid.
void exclude_known_bugs(std::string_view library_version, bool plain, Features& features);

}  // namespace random_io
