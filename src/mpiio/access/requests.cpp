#include "mpiio/access/requests.h"

#include <memory>
#include <new>

#include "mpiio/file/errors.h"

namespace forebay::mpiio {
namespace {

int query(void* state, MPI_Status* status) {
  const Transfer& transfer = *static_cast<Transfer*>(state);  // of a successful access
  mpi().Status_set_elements_x(status, mpi().byte, transfer.bytes);
  mpi().Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  status->MPI_ERROR = MPI_SUCCESS;
  return MPI_SUCCESS;
}

int release(void* state) {
  delete static_cast<Transfer*>(state);
  return MPI_SUCCESS;
}

int cancel(void*, int) { return MPI_SUCCESS; }  // too late: the request is complete from the start

}  // namespace

int start_request(Handle& handle, const Call& call, MPI_Request* request) {
  std::unique_ptr<Transfer> state(new (std::nothrow) Transfer);
  if (state == nullptr)
    return raise(handle, MPI_ERR_NO_MEM,
                 "Forebay: no memory for a request on \"" + handle.name + "\"");
  *state = transfer(handle, call);
  // The file's error handler has been called already. A failed request would call the handler of
  // MPI_COMM_WORLD, which by default ends the program.
  if (state->code != MPI_SUCCESS) {
    *request = mpi().request_null;
    return state->code;
  }
  const int code = mpi().Grequest_start(query, release, cancel, state.get(), request);
  if (code != MPI_SUCCESS) return code;
  state.release();
  return mpi().Grequest_complete(*request);
}

}  // namespace forebay::mpiio
