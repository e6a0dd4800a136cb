// Communicators of Forebay's own over the ranks of a user's communicator, one for each handle that
// is open, so that collectives on different files never meet. Making one is the dearest part of
// opening a file: a closed handle's is kept, as an attribute of the user's communicator, for the
// next open there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

struct CommPool;

struct OwnComm {
  MPI_Comm comm{};                 // comm_null: none could be made on this rank; returns errors
  int64_t number = -1;             // among those made over the same communicator
  std::shared_ptr<CommPool> pool;  // where it goes back to; null: it is freed
};

// The lowest number of this rank's spare ones; -1: none.
int64_t spare_comm(MPI_Comm users);

// The spare one of that number, which every rank has; for -1 a new one, made by all ranks.
OwnComm take_comm(MPI_Comm users, int64_t number);

// Whether the ranks of the user's communicator are on one node: what they found out together at an
// earlier open there, nothing before; the same on all ranks.
std::optional<bool> known_one_node(MPI_Comm users);
// They have; every rank has a pool.
void keep_one_node(const OwnComm& own, bool one_node);

// All ranks give it back, with nothing pending on it.
void give_back(OwnComm own);

// The MPI library is about to end, and frees what is left by itself.
void keep_comms_to_the_end();

}  // namespace forebay::mpiio
