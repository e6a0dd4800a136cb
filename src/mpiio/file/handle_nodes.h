// The nodes on which a handle's ranks are, and who owns which bytes of the file. A node's lowest
// rank, its leader, hands over for it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "channel/list_exchange.h"
#include "domain/file_domains.h"
#include "mpiio/library/mpi_channel.h"
#include "mpiio/library/mpi_library.h"
#include "options/options.h"

namespace forebay::runtime {
class CachedFile;
}

namespace forebay::mpiio {

class HandleNodes {
 public:
  // Finds out which ranks of `comm` are on which node. `page_size`: of this node's cache, in bytes.
  // Called by all ranks; null on all of them if one is refused memory.
  static std::unique_ptr<HandleNodes> find(MPI_Comm comm, int64_t page_size);

  bool leads() const { return leads_; }
  // For leaders.
  ListExchange& exchange() { return *exchange_; }
  // Who owns which bytes of the file, which the MPI library has open as `opened`. The first call
  // assigns them, and is made by all leaders; with domain=dynamic the first one after note_view().
  const FileDomains& domains(runtime::CachedFile& file, MPI_File opened);
  // The file has another view: all that the ranks wrote before has been handed over.
  void note_view(const Options& options) {
    if (options.domain == "dynamic") domains_.reset();
  }

 private:
  bool leads_ = false;
  DomainFacts facts_;
  std::optional<MpiChannel> channel_;
  std::optional<ListExchange> exchange_;
  std::optional<FileDomains> domains_;
};

}  // namespace forebay::mpiio
