// From Forebay's Status to the MPI error a user sees: the right class, and a sentence with the
// file, the offset and the cause, raised through the file's own error handler.
#pragma once

#include <string>

#include "extent/status.h"
#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// Calls the file's error handler and returns the error code; MPI_SUCCESS for a good status.
// `doing` completes "while ..." ("writing", "committing the cached bytes").
int raise(Handle& handle, const Status& status, const char* doing);

// An error of class `error_class` with a text of ours, raised likewise.
int raise(Handle& handle, int error_class, const std::string& text);

// Calls the library for `handle` and returns its true code. After a handler of the user's, MPICH
// returns success: where the code decides what is done next, errors are returned to us first, and
// the user's handler hears of them afterwards.
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
