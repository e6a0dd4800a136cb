// The data accesses of a rank; keeps nonblocking and split ones until they are complete.
#pragma once

#include <mpi.h>

#include <array>
#include <memory>

#include "buffer.h"
#include "rank.h"

namespace random_io {

class Transfers {
 public:
  explicit Transfers(Rank& rank) : rank_(rank) {}

  void begin(const Planned& planned, const Routine& routine);
  // Completes or tests requests.
  void complete(const Planned& planned);
  void end_split(int slot);
  // Completes everything in progress on the slot.
  void drain(int slot);
  void drain_all();

 private:
  struct InFlight {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;  // the memory type, if it must be kept
    std::unique_ptr<Buffer> buffer;
    Planned planned;
    Part part;
    bool active = false;
  };

  void wait(InFlight& flight);
  void wait_for_all(int first);
  void test(InFlight& flight);
  void test_any();
  void settle(InFlight& flight, int code, const MPI_Status& status, const char* call);

  Rank& rank_;
  std::array<InFlight, kRequests> requests_;
  std::array<InFlight, kSlots> splits_;
  std::array<const Routine*, kSlots> split_routines_{};
};

}  // namespace random_io
