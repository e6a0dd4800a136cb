#include "transfers.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "verification.h"

namespace random_io {
namespace {

MPI_Status empty_status() {
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  return status;
}

}  // namespace

void Transfers::begin(const Planned& planned, const Routine& routine) {
  const Operation& operation = planned.operation;
  const auto slot = static_cast<std::size_t>(operation.slot);
  MPI_File file = rank_.file(operation.slot);
  const Part& part = *rank_.part(planned);
  auto buffer = std::make_unique<Buffer>(part, *planned.mine);
  const bool large = operation.large != 0;
  const MPI_Datatype type = make_handle(*part.memory, large);
  MPI_Status status = empty_status();
  InFlight* flight = nullptr;
  if (routine.completion == Completion::nonblocking) {
    flight = &requests_[static_cast<std::size_t>(part.request)];
  } else if (routine.completion == Completion::split) {
    flight = &splits_[slot];
    split_routines_[slot] = &routine;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = routine.call(
      {file, part.offset, buffer->address(), part.count, type, &status, &request, large});
  const bool failed = !rank_.outcomes.expect(planned, code, routine.name);
  const bool keep_type = flight != nullptr && !rank_.features.enabled("early_type_free");
  if (!keep_type) free_handle(*part.memory, type);
  if (failed && routine.position == Position::individual_pointer) {
    MPI_File_seek(file, planned.mine->etypes + planned.mine->bytes / planned.view.etype->size,
                  MPI_SEEK_SET);
  }
  if (planned.refused || failed) return;
  if (flight == nullptr) {
    verify_transfer(rank_, planned, part, *buffer, status);
    return;
  }
  *flight = {request, keep_type ? type : MPI_DATATYPE_NULL, std::move(buffer), planned, part, true};
}

// Checks a completed transfer and releases its buffer.
void Transfers::settle(InFlight& flight, int code, const MPI_Status& status, const char* call) {
  flight.active = false;
  if (flight.type != MPI_DATATYPE_NULL) free_handle(*flight.part.memory, flight.type);
  if (rank_.outcomes.expect(flight.planned, code, call)) {
    verify_transfer(rank_, flight.planned, flight.part, *flight.buffer, status);
  }
  flight.buffer.reset();
}

void Transfers::end_split(int slot) {
  const auto index = static_cast<std::size_t>(slot);
  InFlight& flight = splits_[index];
  if (!flight.active) return;
  MPI_Status status = empty_status();
  const int code = split_routines_[index]->end(
      {rank_.file(slot), 0, flight.buffer->address(), 0, MPI_BYTE, &status, nullptr, false});
  settle(flight, code, status, "the split call's end");
}

void Transfers::drain(int slot) {
  for (InFlight& flight : requests_) {
    if (flight.planned.operation.slot == slot) wait(flight);
  }
  end_split(slot);
}

void Transfers::drain_all() {
  for (int slot = 0; slot < kSlots; ++slot) drain(slot);
}

void Transfers::complete(const Planned& planned) {
  const Part& part = *rank_.part(planned);
  const std::string& name = planned.operation.name;
  InFlight& flight = requests_[static_cast<std::size_t>(part.request)];
  if (name == "wait") {
    wait(flight);
  } else if (name == "waitall") {
    wait_for_all(part.request);
  } else if (name == "testany") {
    test_any();
  } else if (name == "test") {
    test(flight);
  } else if (flight.active && name == "status") {
    int done = 0;
    MPI_Status status;
    rank_.outcomes.expect(planned, MPI_Request_get_status(flight.request, &done, &status),
                          "MPI_Request_get_status");
  } else if (flight.active && name == "cancel") {
    rank_.outcomes.expect(planned, MPI_Cancel(&flight.request), "MPI_Cancel");
  }
}

void Transfers::wait(InFlight& flight) {
  if (!flight.active) return;
  MPI_Status status = empty_status();
  const int code = MPI_Wait(&flight.request, &status);
  settle(flight, code, status, "MPI_Wait");
}

// Begins with `first`, so that ranks wait in different orders.
void Transfers::wait_for_all(int first) {
  std::vector<MPI_Request> list;
  std::vector<InFlight*> flights;
  for (int i = 0; i < kRequests; ++i) {
    InFlight& each = requests_[static_cast<std::size_t>((first + i) % kRequests)];
    if (!each.active) continue;
    list.push_back(each.request);
    flights.push_back(&each);
  }
  std::vector<MPI_Status> statuses(list.size());
  const int code = MPI_Waitall(static_cast<int>(list.size()), list.data(), statuses.data());
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  const bool by_status = error_class == MPI_ERR_IN_STATUS;
  for (std::size_t i = 0; i < list.size(); ++i) {
    settle(*flights[i], by_status ? statuses[i].MPI_ERROR : code, statuses[i], "MPI_Waitall");
  }
}

void Transfers::test(InFlight& flight) {
  if (!flight.active) return;
  int done = 0;
  MPI_Status status = empty_status();
  const int code = MPI_Test(&flight.request, &done, &status);
  if (done != 0) settle(flight, code, status, "MPI_Test");
}

void Transfers::test_any() {
  std::array<MPI_Request, kRequests> list;
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i] = requests_[i].active ? requests_[i].request : MPI_REQUEST_NULL;
  }
  int index = MPI_UNDEFINED, done = 0;
  MPI_Status status = empty_status();
  const int code = MPI_Testany(kRequests, list.data(), &index, &done, &status);
  if (done == 0 || index == MPI_UNDEFINED) return;
  settle(requests_[static_cast<std::size_t>(index)], code, status, "MPI_Testany");
}

}  // namespace random_io
