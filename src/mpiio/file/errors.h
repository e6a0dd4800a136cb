// Turns Forebay's Status into the MPI error that a user sees: its class, and a sentence with the
// file, the offset and the cause, raised through the file's error handler.
#pragma once

#include <string>

#include "extent/status.h"
#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// Calls the file's error handler and returns the error code. A good status returns MPI_SUCCESS.
// `doing` completes "while ..." ("writing", "committing the cached bytes").
int raise(Handle& handle, const Status& status, const char* doing);

// The same for an error of class `error_class` with the given text.
int raise(Handle& handle, int error_class, const std::string& text);

// While this object lives, the file's error handler is MPI_ERRORS_RETURN. MPICH returns success
// after it has called an error handler of the user's. Where the next step depends on the code,
// true_code() lets the library return its errors, and calls the user's handler afterwards.
class QuietErrors {
 public:
  explicit QuietErrors(Handle& handle);
  ~QuietErrors();
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  MPI_File file_;
  MPI_Errhandler users_{};
};

template <typename LibraryCall>
int true_code(Handle& handle, LibraryCall call) {
  int code = MPI_SUCCESS;
  {
    const QuietErrors quiet(handle);
    code = call();
  }
  if (code != MPI_SUCCESS) mpi().File_call_errhandler(handle.file, code);
  return code;
}

}  // namespace forebay::mpiio
