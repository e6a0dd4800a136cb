// Follows requests to their completion while the program is traced: those of nonblocking accesses
// that the MPI library carries out, and of the program's nonblocking collectives. The routines by
// which a program completes requests (MPI 4.1, section 3.7) cost a load and a branch while no
// request is followed, and take no lock while some are.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpiio/library/mpi_library.h"
#include "mpiio/library/routines.h"
#include "mpiio/trace/ordering.h"

namespace forebay::mpiio {

// How many requests are followed.
extern std::atomic<int32_t> followed_requests;

inline bool none_followed() { return followed_requests.load(std::memory_order_relaxed) == 0; }

// A new number, by which the trace names an access whose completion it records; 0: no number is
// left.
uint32_t next_request_number();

// Follows the request of an access that has just begun and asked for `requested` bytes. Returns the
// number under which its completion will be recorded; 0: too many requests are followed, and the
// completion stays unknown.
uint32_t follow_request(MPI_Request request, int64_t requested);

// Follows the request of a collective that has just begun: when it is complete, this rank has
// acquired what the others released. If too many requests are followed, that is not recorded.
void follow_meeting(MPI_Request request, const Meeting& meeting);

// Records the completion of the access with this number, which asked for `requested` bytes.
// `status`: null if the access has failed.
void record_completion(uint32_t number, int64_t requested, const MPI_Status* status);

// What MPI_<Routine> does while some request is followed.
#define FOREBAY_FOLLOWED(name, followed, parameters, arguments) int followed parameters;
FOREBAY_COMPLETING_ROUTINES(FOREBAY_FOLLOWED)
#if defined(FOREBAY_STATUS_OF_MANY)
FOREBAY_STATUS_OF_MANY_ROUTINES(FOREBAY_FOLLOWED)
#endif
#undef FOREBAY_FOLLOWED

}  // namespace forebay::mpiio
