// A data type made of given runs of bytes. Runs longer than 1 GiB are cut, since lengths are ints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

class RunsType {
 public:
  RunsType() = default;
  RunsType(const RunsType&) = delete;
  RunsType& operator=(const RunsType&) = delete;
  ~RunsType() {
    if (type_ != mpi().datatype_null) mpi().Type_free(&type_);
  }

  void add(MPI_Aint displacement, int64_t length) {
    for (; length > 0; displacement += longest_part, length -= longest_part) {
      displacements_.push_back(displacement);
      lengths_.push_back(static_cast<int>(std::min(length, longest_part)));
    }
  }
  MPI_Datatype make() {
    mpi().Type_create_hindexed(static_cast<int>(lengths_.size()), lengths_.data(),
                               displacements_.data(), mpi().byte, &type_);
    mpi().Type_commit(&type_);
    return type_;
  }

 private:
  static constexpr int64_t longest_part = 1 << 30;  // bytes
  std::vector<MPI_Aint> displacements_;
  std::vector<int> lengths_;
  MPI_Datatype type_ = mpi().datatype_null;
};

}  // namespace forebay::mpiio
