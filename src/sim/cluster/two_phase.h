// Collective calls as MPI libraries make them without a cache: two-phase I/O. aggregation.h says
// which accesses are one call and who reads and writes which bytes of it; here all of it takes its
// time.
//
// A process that comes to a collective call waits for the others. If their regions, in the order of
// the processes, do not overlap, each makes its access by itself (ROMIO: romio_cb_write=automatic).
// Otherwise there is an aggregator on each node of these processes. All begin each round together:
// they agree on its sizes, with messages to and from as many processes, one after the other, as the
// number of processes has binary digits. In a round of a write each process sends its bytes to the
// aggregators. An aggregator that has all of them writes from the first to the last; if bytes
// between these are missing, it reads them before (data sieving). In a round of a read it reads
// from the first to the last byte, and then sends each process its own. All processes leave the
// call together. Which bytes of a buffer are whose is not sent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/access_log.h"
#include "sim/aggregation.h"
#include "sim/cluster/collective_calls.h"
#include "sim/cluster/file_system.h"
#include "sim/cluster/kernel.h"
#include "sim/cluster/network.h"
#include "sim/cluster/process.h"

namespace forebay::sim {

struct TwoPhaseSettings {
  uint32_t aggregators = 0;         // cb_nodes: the most of a call; 0: one on each node
  int64_t buffer_bytes = 16 << 20;  // cb_buffer_size: of an aggregator
};

class TwoPhase {
 public:
  struct Counts {
    int64_t calls = 0;            // in two phases
    int64_t exchanged_bytes = 0;  // between processes and aggregators, also on one node
  };

  // What the references name outlives this.
  TwoPhase(Network& network, FileSystem& file_system, CollectiveCalls& calls, const AccessLog& log,
           const TwoPhaseSettings& settings, std::span<const uint32_t> node_of_process);

  // Called by the process whose access it is, one of a call; returns when the call has ended.
  // False: the process is to make the access by itself.
  bool take_part(uint32_t access);

  const Counts& counts() const { return counts_; }

 private:
  class Window;
  // The part of a call's region that one aggregator reads and writes.
  struct Domain {
    uint32_t node;
    int64_t begin, end;
    int64_t next;  // the first requested byte that has not been exchanged, at the earliest
  };

  bool interleaved(std::vector<uint32_t> accesses) const;
  std::vector<Domain> domains_of(std::span<const uint32_t> accesses) const;
  int64_t next_asked(const Domain& domain, std::span<const uint32_t> accesses, int64_t from) const;
  void exchange(std::span<const uint32_t> accesses);

  Network& network_;
  FileSystem& file_system_;
  CollectiveCalls& calls_;
  const AccessLog& log_;
  TwoPhaseSettings settings_;
  std::span<const uint32_t> node_of_process_;
  Counts counts_;
};

}  // namespace forebay::sim
