// The correct results of calls: success, unless a call must be refused, or may fail because storage
// fails. Remembers failed writes until all ranks know them.
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
  // `history` may be nullptr.
  CallOutcomes(Planner& planner, History* history, const FailureReport& report)
      : planner_(planner), history_(history), report_(report) {}

  // Whether the call succeeded, if it may succeed or fail. Ends the test if the result is wrong.
  bool succeeded(const Planned& planned, int code, const char* call);
  // The same. True if the call had to be refused, and was.
  bool expect(const Planned& planned, int code, const char* call);
  // All of the communicator's ranks tell whether the call failed on them; it must fail on all or on
  // none.
  bool failed_on_all(const Planned& planned, MPI_Comm communicator, bool failed) const;
  bool failed_on_any(bool failed) const;

  // From now on storage may fail with this errno.
  void allow(int64_t error) { possible_errors_.insert(error); }
  // Tells every rank's model which writes failed on other ranks.
  void agree_on_failures();

 private:
  void note_failure(const Planned& planned);

  Planner& planner_;
  History* history_;
  const FailureReport& report_;
  std::vector<uint32_t> failed_;       // of this rank; other ranks do not know them yet
  std::set<int64_t> possible_errors_;  // errno values with which storage has failed so far
};

}  // namespace random_io
