// With domain=region or dynamic and consistency=posix: the first large collective access to a file,
// or the first of a view, gives its owners other parts of it (domain/region_parts.h). Only if no
// other open of the job has the file, which the job's directory tells, and which nobody else can
// open meanwhile.
#pragma once

#include "mpiio/file/handle.h"
#include "mpiio/library/call.h"

namespace forebay::mpiio {

// What the ranks of a handle tell each other before a collective access, for agree_max.
struct AccessFacts {
  int64_t tells = 0;  // 1: the rank is to tell the owners that caches hold bytes
  // The bytes of the access that go through caches lie between them, the first one negated.
  int64_t minus_begin = INT64_MIN;
  int64_t end = INT64_MIN;
  int64_t bytes = 0;  // of the rank's part of the access
};

// Whether the handle's collective accesses may still change the owners' parts; the same on all
// ranks.
inline bool may_change_parts(const Handle& handle) {
  return handle.region_parts != nullptr && handle.region_parts->open();
}

// Sets the region of this rank's part of an access that goes through caches. Called with the
// handle's lock.
void note_region(const Handle& handle, const Call& access, AccessFacts* facts);

// Called by all ranks of the handle, without its lock, at the beginning of a collective access.
void change_parts(Handle& handle, const AccessFacts& agreed);

}  // namespace forebay::mpiio
