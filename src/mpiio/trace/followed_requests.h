// Requests of the MPI library's own nonblocking accesses, and of the program's nonblocking
// collectives, followed to their completion while the program is traced. The routines by which a
// program completes requests (MPI 4.1, section 3.7) cost a load and a branch while none is
// followed, and no lock while some are.
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

// The number of one more access whose completion the trace tells apart; 0: there are no more.
uint32_t next_request_number();

// Follows the request of an access just begun, which asked for `requested` bytes. The number under
// which its completion will be recorded; 0: too many are followed, it remains unknown.
uint32_t follow_request(MPI_Request request, int64_t requested);

// Follows the request of a collective just begun: when it is complete, this rank has acquired what
// the others gave. Where too many are followed that is never recorded.
void follow_meeting(MPI_Request request, const Meeting& meeting);

// Records that an access is complete, which asked for `requested` bytes; `status`: null where it
// has failed.
void record_completion(uint32_t number, int64_t requested, const MPI_Status* status);

// What MPI_<Routine> does for a program, where some request is followed.
#define FOREBAY_FOLLOWED(name, followed, parameters, arguments) int followed parameters;
FOREBAY_COMPLETING_ROUTINES(FOREBAY_FOLLOWED)
#if defined(FOREBAY_STATUS_OF_MANY)
FOREBAY_STATUS_OF_MANY_ROUTINES(FOREBAY_FOLLOWED)
#endif
#undef FOREBAY_FOLLOWED

}  // namespace forebay::mpiio
