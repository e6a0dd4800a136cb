#include "mpiio/file/collective_exchange.h"

#include <cstring>

#include "agent/message_memory.h"
#include "extent/status.h"
#include "mpiio/library/agreement.h"
#include "runtime/cache/access_extents.h"
#include "runtime/node/lock.h"

namespace forebay::mpiio {
namespace {

// Tags of the handle's communicator; mpi_channel.cpp has the first ones.
constexpr int question_tag = 3;
constexpr int list_tag = 4;
constexpr int answer_tag = 5;

MPI_Request begin_send(std::span<const std::byte> bytes, int to, int tag, MPI_Comm comm) {
  MPI_Request request = mpi().request_null;
  mpi().Isend(bytes.data(), static_cast<int>(bytes.size()), mpi().byte, to, tag, comm, &request);
  return request;
}

// Receives a message of the same size as `into`.
void receive(std::span<std::byte> into, int from, MPI_Comm comm) {
  MPI_Status ignored;
  mpi().Recv(into.data(), static_cast<int>(into.size()), mpi().byte, from, list_tag, comm,
             &ignored);
}

}  // namespace

CollectiveExchange::CollectiveExchange(MPI_Comm comm, int rank,
                                       std::span<const uint32_t> owner_of_rank, uint32_t owners,
                                       runtime::CachedFile& here)
    : comm_(comm),
      ranks_(std::ssize(owner_of_rank)),
      here_(here),
      questions_(owners),
      replied_(mpi().request_null) {
  // The ranks that ask one node are spread over its ranks.
  std::vector<int> ranks_of_node(owners, 0);
  const auto for_each_rank = [&](auto act) {
    for (std::size_t other = 0; other < owner_of_rank.size(); ++other)
      if (owner_of_rank[other] < owners) act(static_cast<int>(other), owner_of_rank[other]);
  };
  for_each_rank([&](int, uint32_t owner) { ++ranks_of_node[owner]; });
  std::vector<int> until(owners, 0);  // ranks of the node before the one to ask
  for (uint32_t owner = 0; owner < owners; ++owner)
    if (ranks_of_node[owner] > 0) until[owner] = rank % ranks_of_node[owner];
  for_each_rank([&](int other, uint32_t owner) {
    if (until[owner]-- == 0) questions_[owner].rank = other;
  });
  for (Question& question : questions_) {
    question.sends.fill(mpi().request_null);
    question.answered = mpi().request_null;
  }
}

void CollectiveExchange::close() {
  MPI_Request all_done = mpi().request_null;
  mpi().Ibarrier(comm_, &all_done);
  wait(&all_done);
  MPI_Status ignored;
  mpi().Wait(&replied_, &ignored);
  agent::keep_little(extents_);
  agent::keep_little(data_);
  agent::keep_little(reply_);
  for (Question& question : questions_) agent::keep_little(question.answer);
}

// As one who asks --------------------------------------------------------------------------------

std::size_t CollectiveExchange::bytes_together(const Envelope& envelope) {
  return sizeof envelope + static_cast<std::size_t>(envelope.extents) * sizeof(Extent) +
         static_cast<std::size_t>(envelope.writes != 0 ? envelope.bytes : 0);
}

void CollectiveExchange::begin(Question& question, const Envelope& envelope,
                               std::span<const Extent> extents, std::span<const std::byte> data) {
  const std::span list = std::as_bytes(extents);
  const bool together = bytes_together(envelope) <= most_together;
  std::vector<std::byte>& message = question.message;
  message.resize(sizeof envelope + (together ? list.size() + data.size() : 0));
  std::memcpy(message.data(), &envelope, sizeof envelope);
  const std::size_t room =
      sizeof(AnswerHead) + static_cast<std::size_t>(envelope.writes != 0 ? 0 : envelope.bytes);
  if (question.answer.size() < room) question.answer.resize(room);
  mpi().Irecv(question.answer.data(), static_cast<int>(room), mpi().byte, question.rank, answer_tag,
              comm_, &question.answered);
  if (together) {
    std::memcpy(message.data() + sizeof envelope, list.data(), list.size());
    if (!data.empty())
      std::memcpy(message.data() + sizeof envelope + list.size(), data.data(), data.size());
  }
  question.sends[0] = begin_send(message, question.rank, question_tag, comm_);
  if (together) return;
  question.sends[1] = begin_send(list, question.rank, list_tag, comm_);
  if (!data.empty()) question.sends[2] = begin_send(data, question.rank, list_tag, comm_);
}

Status CollectiveExchange::begin_write(uint32_t owner, std::span<const Extent> extents,
                                       std::span<const std::byte> data) {
  return within_memory([&] {
    begin(questions_[owner], {1, std::ssize(extents), std::ssize(data)}, extents, data);
  });
}

Status CollectiveExchange::begin_read(uint32_t owner, std::span<const Extent> extents,
                                      int64_t bytes) {
  return within_memory([&] {
    begin(questions_[owner], {0, std::ssize(extents), bytes}, extents, {});
  });
}

Status CollectiveExchange::end(uint32_t owner, int64_t* moved) {
  Question& question = questions_[owner];
  bool arrived = wait(&question.answered);
  for (MPI_Request& send : question.sends) {
    MPI_Status ignored;
    if (mpi().Wait(&send, &ignored) != MPI_SUCCESS) arrived = false;
  }
  AnswerHead head;
  if (arrived) std::memcpy(&head, question.answer.data(), sizeof head);
  *moved = question.moved = head.moved;
  if (!arrived) return {Code::node_lost, 0, -1};
  return {static_cast<Code>(head.code), static_cast<int>(head.system_error), head.offset};
}

std::span<const std::byte> CollectiveExchange::answer(uint32_t owner) const {
  const Question& question = questions_[owner];
  return std::span(question.answer)
      .subspan(sizeof(AnswerHead), static_cast<std::size_t>(question.moved));
}

// As one who is asked ----------------------------------------------------------------------------

// Answers questions until the request is complete. False: the MPI library failed. Questions are
// looked for, not received ahead: with a receive that was cancelled at the end of a call, the next
// call hung (MPICH 5.0 over UCX, tests/box).
bool CollectiveExchange::wait(MPI_Request* request) {
  runtime::Backoff backoff(yields_for_ranks);
  while (true) {
    int flag = 0;
    MPI_Status status;
    if (mpi().Test(request, &flag, &status) != MPI_SUCCESS) return false;
    if (flag != 0) return true;
    if (mpi().Iprobe(MPI_ANY_SOURCE, question_tag, comm_, &flag, &status) != MPI_SUCCESS)
      return false;
    if (flag == 0) {
      backoff.pause();
      continue;
    }
    serve(status.MPI_SOURCE);
    backoff = runtime::Backoff(yields_for_ranks);
  }
}

void CollectiveExchange::serve(int asker) {
  MPI_Status received;
  mpi().Recv(asked_.data(), static_cast<int>(asked_.size()), mpi().byte, asker, question_tag, comm_,
             &received);
  Envelope envelope;
  std::memcpy(&envelope, asked_.data(), sizeof envelope);
  const bool writes = envelope.writes != 0;
  std::span<const Extent> extents;
  const std::byte* data = nullptr;
  Status status = receive_list(asker, envelope, &extents, &data);
  MPI_Status ignored;
  mpi().Wait(&replied_, &ignored);  // before its memory is used again
  head_ = {};
  const int64_t storage_bytes = here_.read_storage_bytes();
  if (status.ok())
    status = within_memory([&] {
      std::byte* memory = const_cast<std::byte*>(data);
      if (!writes) {
        const std::size_t room = sizeof head_ + static_cast<std::size_t>(envelope.bytes);
        if (reply_.size() < room) reply_.resize(room);
        memory = reply_.data() + sizeof head_;
      }
      return runtime::access_extents(here_, writes, true, extents, memory, envelope.bytes,
                                     &head_.moved);
    });
  storage_bytes_for_others_ += here_.read_storage_bytes() - storage_bytes;
  if (!status.ok()) head_.moved = 0;
  head_.code = static_cast<int64_t>(status.code);
  head_.system_error = status.system_error;
  head_.offset = status.offset;
  std::span<const std::byte> message = std::as_bytes(std::span(&head_, 1));
  if (!writes && status.ok()) {
    std::memcpy(reply_.data(), &head_, sizeof head_);
    message = std::span(reply_).first(sizeof head_ + static_cast<std::size_t>(head_.moved));
  }
  replied_ = begin_send(message, asker, answer_tag, comm_);
}

// Finds the question's extents and bytes. A message for which there is no memory is received
// nevertheless, and is lost.
Status CollectiveExchange::receive_list(int asker, const Envelope& envelope,
                                        std::span<const Extent>* extents, const std::byte** data) {
  const auto count = static_cast<std::size_t>(envelope.extents);
  const auto bytes = static_cast<std::size_t>(envelope.writes != 0 ? envelope.bytes : 0);
  if (bytes_together(envelope) <= most_together) {
    *extents = {reinterpret_cast<const Extent*>(asked_.data() + sizeof envelope), count};
    *data = asked_.data() + sizeof envelope + extents->size_bytes();
    return {};
  }
  Status status = within_memory([&] { extents_.resize(count); });
  receive(status.ok() ? std::as_writable_bytes(std::span(extents_)) : std::span<std::byte>(), asker,
          comm_);
  *extents = extents_;
  if (bytes == 0) return status;
  if (status.ok()) status = within_memory([&] { data_.resize(bytes); });
  receive(status.ok() ? std::span(data_) : std::span<std::byte>(), asker, comm_);
  *data = data_.data();
  return status;
}

}  // namespace forebay::mpiio
