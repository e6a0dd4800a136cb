// A value of Forebay's that the MPI library keeps with a communicator of the program (MPI 4.1,
// section 7.7). It is deleted when the program frees the communicator. A duplicate of the
// communicator has none.
#pragma once

#include <memory>

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

template <typename T>
class CommAttribute {
 public:
  // nullptr: the communicator has no value.
  static T* of(MPI_Comm comm) {
    T* value = nullptr;
    int found = 0;
    if (key() == MPI_KEYVAL_INVALID ||
        mpi().Comm_get_attr(comm, key(), &value, &found) != MPI_SUCCESS)
      return nullptr;
    return found ? value : nullptr;
  }

  // nullptr: the library refuses it.
  static T* attach(MPI_Comm comm, std::unique_ptr<T> value) {
    if (key() == MPI_KEYVAL_INVALID || mpi().Comm_set_attr(comm, key(), value.get()) != MPI_SUCCESS)
      return nullptr;
    return value.release();
  }

  // MPI_KEYVAL_INVALID: the library refuses to make a key.
  static int key() {
    static const int key = []() -> int {
      int made = MPI_KEYVAL_INVALID;
      if (mpi().Comm_create_keyval(copy_nothing, destroy, &made, nullptr) != MPI_SUCCESS)
        return MPI_KEYVAL_INVALID;
      return made;
    }();
    return key;
  }

 private:
  static int copy_nothing(MPI_Comm, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  static int destroy(MPI_Comm, int, void* value, void*) {
    delete static_cast<T*>(value);
    return MPI_SUCCESS;
  }
};

}  // namespace forebay::mpiio
