#include "communicators.h"

#include <bit>
#include <vector>

namespace random_io {

Communicators::~Communicators() {
  for (auto& [members, communicator] : made_) MPI_Comm_free(&communicator);
}

MPI_Comm Communicators::of(int64_t members) {
  if (members == (1 << ranks_) - 1) return MPI_COMM_WORLD;
  if (std::popcount(static_cast<uint64_t>(members)) == 1) return MPI_COMM_SELF;
  const auto known = made_.find(members);
  if (known != made_.end()) return known->second;
  std::vector<int> ranks;
  for (int rank = 0; rank < ranks_; ++rank) {
    if ((members >> rank & 1) != 0) ranks.push_back(rank);
  }
  MPI_Group world, group;
  MPI_Comm made;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &made);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return made_[members] = made;
}

}  // namespace random_io
