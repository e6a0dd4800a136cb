// Pages of a file of several nodes that stay in the caches after its close: the ranks agree.
#pragma once

#include <optional>

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// Whether pages of the handle's file may stay in the caches of its nodes. The same on all ranks.
bool may_rest_on_nodes(const Handle& handle);

// Leaves the owners, which have committed the file, and agrees on the file's stamp. Empty: the
// pages do not stay. Called by all ranks; `status` is this rank's, and also takes what fails here.
std::optional<runtime::CachedFile::Rest> agree_to_rest(Handle& handle, Status& status);

// Whether all nodes may use the pages that have stayed. `sessions_agree`: all ranks of the handle
// found the pages of one session.
bool uses_kept_pages(const Handle& handle, bool sessions_agree);

}  // namespace forebay::mpiio
