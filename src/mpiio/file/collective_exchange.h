// The exchange of a collective call whose ranks are on several nodes, over Forebay's communicator
// of the handle. A rank asks a rank of each owner's node for its part of the access, and answers
// the questions of others while it waits. The call ends with a nonblocking barrier: a rank answers
// until all have what they asked for. So ranks need not agree on rounds, and the memory of each is
// bounded by the window of an access (agent/job_file.h), which one question asks for at most.
//
// Lock rule: the handle's lock is held from a question to its answer, and while a rank answers. It
// cannot make ranks wait in a circle, because all are in the call when the first asks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/owners_exchange.h"
#include "mpiio/library/mpi_library.h"

namespace forebay::runtime {
class CachedFile;
}

namespace forebay::mpiio {

class CollectiveExchange final : public agent::OwnersExchange {
 public:
  // `owner_of_rank`: the number of the owner that each rank's node is, or another number: it is
  // none. `here`: the file in this node's cache. Both it and `comm` outlive the exchange.
  CollectiveExchange(MPI_Comm comm, int rank, std::span<const uint32_t> owner_of_rank,
                     uint32_t owners, runtime::CachedFile& here);

  // Ends the exchange of a call, for which the ranks have waited for each other: this rank answers
  // until all others have ended it, too. Each calls it, whatever became of its access.
  void close();

  int64_t ranks() const override { return ranks_; }
  bool reaches(uint32_t owner) const override { return questions_[owner].rank >= 0; }
  Status begin_write(uint32_t owner, std::span<const Extent> extents,
                     std::span<const std::byte> data) override;
  Status begin_read(uint32_t owner, std::span<const Extent> extents, int64_t bytes) override;
  Status end(uint32_t owner, int64_t* moved) override;
  std::span<const std::byte> answer(uint32_t owner) const override;
  int64_t storage_bytes_for_others() const override { return storage_bytes_for_others_; }

 private:
  // Begins a message. The list of extents and the bytes to write follow in it if it stays short,
  // otherwise in messages of their own.
  struct Envelope {
    int64_t writes = 0;
    int64_t extents = 0;  // number
    int64_t bytes = 0;    // their sum
  };
  static constexpr std::size_t most_together = 8 << 10;  // bytes of a message with what follows

  // Begins an answer; what was read follows.
  struct AnswerHead {
    int64_t code = 0;
    int64_t system_error = 0;
    int64_t offset = -1;
    int64_t moved = 0;
  };

  // To one owner.
  struct Question {
    int rank = -1;                   // who is asked; -1: nobody takes part
    std::vector<std::byte> message;  // the envelope and what follows
    std::vector<std::byte> answer;
    std::array<MPI_Request, 3> sends{};
    MPI_Request answered{};
    int64_t moved = 0;
  };

  static std::size_t bytes_together(const Envelope& envelope);
  void begin(Question& question, const Envelope& envelope, std::span<const Extent> extents,
             std::span<const std::byte> data);
  bool wait(MPI_Request* request);
  void serve(int asker);
  Status receive_list(int asker, const Envelope& envelope, std::span<const Extent>* extents,
                      const std::byte** data);

  MPI_Comm comm_;
  int64_t ranks_;
  runtime::CachedFile& here_;
  std::vector<Question> questions_;  // by owner
  // As the one who is asked.
  alignas(Extent) std::array<std::byte, most_together> asked_;
  std::vector<Extent> extents_;
  std::vector<std::byte> data_;
  int64_t storage_bytes_for_others_ = 0;
  AnswerHead head_;               // sent alone after a write or a failure,
  std::vector<std::byte> reply_;  // before what was read after a read
  MPI_Request replied_;
};

}  // namespace forebay::mpiio
