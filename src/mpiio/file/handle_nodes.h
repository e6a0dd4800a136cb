// The nodes on which a handle's ranks are: who owns which bytes of the file, and the messages of a
// hand-over (engine/hand_over.h). A node's lowest rank, its leader, sends and receives for it.
#pragma once

#include <memory>
#include <vector>

#include "domain/file_domains.h"
#include "mpiio/library/mpi_library.h"
#include "runtime/cache/node_exchange.h"

namespace forebay::runtime {
class CachedFile;
}

namespace forebay::mpiio {

class HandleNodes final : public runtime::NodeExchange {
 public:
  // Finds out which ranks of `comm` are on which node. `page_size`: of this node's cache, in bytes.
  // Called by all ranks; null on all of them if one is refused memory.
  static std::unique_ptr<HandleNodes> find(MPI_Comm comm, int64_t page_size);

  bool leads() const { return leads_; }
  // Who owns which bytes. The first call assigns them, and is made by all leaders.
  const FileDomains& domains(runtime::CachedFile& file);

  uint32_t count() const override { return static_cast<uint32_t>(leaders_.size()); }
  uint32_t self() const override { return self_; }
  bool exchange(std::span<const std::span<const Request>> lists, bool more,
                const Accept& accept) override;
  void answer(const Settle& settle) override;

 private:
  struct Message;
  // In each step a node sends to one other node and receives from one; in count() - 1 steps it has
  // met all.
  struct Partners {
    uint32_t to, from;
  };
  Partners partners(uint32_t step) const;
  template <typename Value>
  void sendrecv(uint32_t to, std::span<const Value> sent, uint32_t from,
                std::span<Value> received) const;

  MPI_Comm comm_{};
  std::vector<int> leaders_;  // rank of each node's leader
  uint32_t self_ = 0;
  bool leads_ = false;
  int64_t unit_bytes_ = 1;
  bool assigned_ = false;
  FileDomains domains_;
  std::vector<uint8_t> sent_;   // whether this node's list for a node was sent
  std::vector<uint8_t> taken_;  // whether this node took a node's list
};

}  // namespace forebay::mpiio
