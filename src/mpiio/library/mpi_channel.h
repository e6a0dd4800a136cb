// A channel between some ranks of a communicator, one of each node. A message is an envelope and,
// if it has any, its bytes. A rank that dies ends the job, so no node is ever lost.
#pragma once

#include <vector>

#include "channel/channel.h"
#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

class MpiChannel final : public Channel {
 public:
  // `ranks`: each node's rank. `comm` is used by nothing else meanwhile, and outlives the channel.
  MpiChannel(MPI_Comm comm, std::vector<int> ranks) : comm_(comm), ranks_(std::move(ranks)) {}

  Arrival poll(uint32_t from, Arrived* arrived) override;
  Status receive(uint32_t from, Arrived* arrived) override;

 private:
  struct UnderWay;
  void start(Send& send, uint32_t to, const Message& message) override;
  void finish(Send& send) override;

  MPI_Comm comm_;
  std::vector<int> ranks_;
};

}  // namespace forebay::mpiio
