#include "trace/access.h"

namespace forebay::trace {

void Accesses::push_back(const Access& access, uint32_t of_thread) {
  start_ns.push_back(access.start_ns);
  end_ns.push_back(access.end_ns);
  completed_ns.push_back(access.completed_ns);
  position.push_back(access.position);
  requested.push_back(access.requested);
  transferred.push_back(access.transferred);
  sequence.push_back(access.sequence);
  file.push_back(access.file);
  view.push_back(access.view);
  request.push_back(access.request);
  thread.push_back(of_thread);
  routine.push_back(access.routine);
}

Access Accesses::at(std::size_t index) const {
  return {start_ns[index],  end_ns[index],      completed_ns[index], position[index],
          requested[index], transferred[index], sequence[index],     file[index],
          view[index],      request[index],     routine[index]};
}

}  // namespace forebay::trace
