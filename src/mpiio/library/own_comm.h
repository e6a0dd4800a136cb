// Forebay's own communicators over the ranks of a user's communicator: one for each open handle, so
// that collectives on different files never meet. To make one is the most expensive part of opening
// a file. So the communicator of a closed handle is kept as a spare, as an attribute of the user's
// communicator, for the next open on it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

struct CommPool;

struct OwnComm {
  MPI_Comm comm{};                 // its errors are returned; comm_null: this rank could make none
  int64_t number = -1;             // its number among those over the same user's communicator
  std::shared_ptr<CommPool> pool;  // keeps it as a spare; null: it is freed
};

// Does what is the same for every communicator, and needs no other rank. Otherwise the first open
// does it.
void prepare_own_comms();

// The lowest number among this rank's spares; -1: it has no spare.
int64_t spare_comm(MPI_Comm users);

// The spare with this number, which every rank has; for -1 a new communicator, made by all ranks.
OwnComm take_comm(MPI_Comm users, int64_t number);

// Whether the ranks of the user's communicator are on one node, if they found out at an earlier
// open. The same on all ranks.
std::optional<bool> known_one_node(MPI_Comm users);
// Keeps what the ranks found out; every rank must have a pool.
void keep_one_node(const OwnComm& own, bool one_node);

// Gives the communicator back. All ranks do so, with nothing pending on it.
void give_back(OwnComm own);

// From now on no communicator is freed: the MPI library is about to end, and frees them itself.
void keep_comms_to_the_end();

}  // namespace forebay::mpiio
