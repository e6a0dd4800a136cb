// The runs of an I/O plan as requests of storage: each run is one request, and each of its parts is
// one segment.
#pragma once

#include <span>

#include "engine/io_plan.h"
#include "storage/few.h"
#include "storage/transfer.h"

namespace forebay {

class PlanRequests {
 public:
  // `memory_of(part)`: where the part's bytes are.
  template <typename MemoryOf>
  void set(const IoPlan& plan, const MemoryOf& memory_of) {
    const std::span<Segment> segments = segments_.make(plan.parts().size());
    for (std::size_t i = 0; i < segments.size(); ++i)
      segments[i] = {memory_of(plan.parts()[i]), plan.parts()[i].length};
    const std::span<Request> requests = requests_.make(plan.runs().size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const IoPlan::Run& run = plan.runs()[i];
      requests[i] = {run.extent.offset, segments.subspan(run.first_part, run.parts)};
    }
  }
  std::span<const Request> list() const { return requests_.values(); }

 private:
  Few<Segment, 8> segments_;
  Few<Request, 4> requests_;
};

}  // namespace forebay
