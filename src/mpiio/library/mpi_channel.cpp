#include "mpiio/library/mpi_channel.h"

#include <algorithm>
#include <array>

#include "mpiio/library/agreement.h"

namespace forebay::mpiio {
namespace {

constexpr int envelope_tag = 1;
constexpr int bytes_tag = 2;

// Kind, header, and the number of bytes that follow.
using Envelope = std::array<int64_t, 3>;
constexpr auto envelope_size = static_cast<int>(std::tuple_size_v<Envelope>);

int wait(MPI_Request* request, MPI_Status* status) {
  return waits_politely() ? wait_politely(request, status) : mpi().Wait(request, status);
}

}  // namespace

struct MpiChannel::UnderWay final : Send::Progress {
  Envelope envelope{};
  MPI_Request requests[2];
};

void MpiChannel::start(Send& send, uint32_t to, const Message& message) {
  auto under_way = std::make_unique<UnderWay>();
  const auto count = std::ssize(message.bytes);
  under_way->envelope = {message.kind, static_cast<int64_t>(message.header), count};
  under_way->requests[0] = under_way->requests[1] = mpi().request_null;
  UnderWay& progress = *under_way;
  send.keep(std::move(under_way));
  mpi().Isend(progress.envelope.data(), envelope_size, mpi().int64, ranks_[to], envelope_tag, comm_,
              &progress.requests[0]);
  if (count > 0)
    mpi().Isend(message.bytes.data(), static_cast<int>(count), mpi().byte, ranks_[to], bytes_tag,
                comm_, &progress.requests[1]);
}

void MpiChannel::finish(Send& send) {
  for (MPI_Request& request : static_cast<UnderWay*>(send.progress())->requests) {
    MPI_Status ignored;
    wait(&request, &ignored);
  }
  send.end({});
}

Status MpiChannel::receive(uint32_t from, Arrived* arrived) {
  Envelope envelope{};
  MPI_Status status;
  const int source = from == any_node ? MPI_ANY_SOURCE : ranks_[from];
  MPI_Request request = mpi().request_null;
  mpi().Irecv(envelope.data(), envelope_size, mpi().int64, source, envelope_tag, comm_, &request);
  if (wait(&request, &status) != MPI_SUCCESS) return {Code::node_lost, 0, -1};
  const auto sender = std::ranges::find(ranks_, status.MPI_SOURCE);
  arrived->from = static_cast<uint32_t>(sender - ranks_.begin());
  arrived->kind = static_cast<uint32_t>(envelope[0]);
  arrived->header = static_cast<uint64_t>(envelope[1]);
  arrived->bytes.resize(static_cast<std::size_t>(envelope[2]));
  if (envelope[2] == 0) return {};
  mpi().Irecv(arrived->bytes.data(), static_cast<int>(envelope[2]), mpi().byte, status.MPI_SOURCE,
              bytes_tag, comm_, &request);
  (void)wait(&request, &status);
  return {};
}

Arrival MpiChannel::poll(uint32_t from, Arrived* arrived) {
  int flag = 0;
  MPI_Status status;
  const int source = from == any_node ? MPI_ANY_SOURCE : ranks_[from];
  mpi().Iprobe(source, envelope_tag, comm_, &flag, &status);
  if (flag == 0) return Arrival::nothing;
  const auto sender = std::ranges::find(ranks_, status.MPI_SOURCE);
  return receive(static_cast<uint32_t>(sender - ranks_.begin()), arrived).ok() ? Arrival::message
                                                                               : Arrival::lost;
}

}  // namespace forebay::mpiio
