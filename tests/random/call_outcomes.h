// Which results of calls are right: success, except where a call must be refused, or may fail while
// storage does. Remembers which writes have failed until all ranks know.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <set>
#include <vector>

#include "failure_report.h"
#include "planner.h"

namespace random_io {

class CallOutcomes {
 public:
  // `history` may be null.
  CallOutcomes(Planner& planner, History* history, const FailureReport& report)
      : planner_(planner), history_(history), report_(report) {}

  // Whether the call succeeded, where it may do either; fails unless it did what it must.
  bool succeeded(const Planned& planned, int code, const char* call);
  // The same; true where it had to be refused and was.
  bool expect(const Planned& planned, int code, const char* call);
  // All of the communicator's ranks say whether the call failed on them; it must be all or none.
  bool failed_on_all(const Planned& planned, MPI_Comm communicator, bool failed) const;
  bool failed_on_any(bool failed) const;

  // From now on storage may fail with this errno.
  void allow(int64_t error) { possible_errors_.insert(error); }
  // Every rank's model learns which writes have failed on others.
  void agree_on_failures();

 private:
  void note_failure(const Planned& planned);

  Planner& planner_;
  History* history_;
  const FailureReport& report_;
  std::vector<uint32_t> failed_;       // this rank's, that others have not been told of
  std::set<int64_t> possible_errors_;  // errno: what storage has failed with so far
};

}  // namespace random_io
