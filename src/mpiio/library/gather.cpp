#include "mpiio/library/gather.h"

#include <vector>

#include "mpiio/library/agreement.h"

namespace forebay::mpiio {

std::string gather(MPI_Comm comm, const std::string& mine) {
  int rank = 0;
  int ranks = 0;
  mpi().Comm_rank(comm, &rank);
  mpi().Comm_size(comm, &ranks);
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths, starts;
  std::string all;
  const auto has_memory = [&](auto make) { return !any_rank(comm, !within_memory(make).ok()); };
  const auto make_numbers = [&] {
    lengths.resize(rank == 0 ? static_cast<std::size_t>(ranks) : 0);
    starts.resize(lengths.size());
  };
  if (!has_memory(make_numbers)) return {};
  mpi().Gather(&length, 1, mpi().integer, lengths.data(), 1, mpi().integer, 0, comm);
  int total = 0;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    starts[r] = total;
    total += lengths[r];
  }
  if (!has_memory([&] { all.resize(static_cast<std::size_t>(total)); })) return {};
  mpi().Gatherv(mine.data(), length, mpi().byte, all.data(), lengths.data(), starts.data(),
                mpi().byte, 0, comm);
  return all;
}

}  // namespace forebay::mpiio
