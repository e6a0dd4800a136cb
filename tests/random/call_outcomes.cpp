#include "call_outcomes.h"

#include <algorithm>
#include <cerrno>
#include <string>

namespace random_io {
namespace {

// The MPI error class of a storage error.
int class_of(int64_t error) {
  if (error == ENOSPC) return MPI_ERR_NO_SPACE;
  return error == EDQUOT ? MPI_ERR_QUOTA : MPI_ERR_IO;
}

}  // namespace

bool CallOutcomes::expect(const Planned& planned, int code, const char* call) {
  if ((code != MPI_SUCCESS) == planned.refused) return true;
  if (planned.refused) {
    report_.fail(planned, std::string(call) + " succeeded where it must be refused");
  }
  return succeeded(planned, code, call);
}

bool CallOutcomes::succeeded(const Planned& planned, int code, const char* call) {
  if (code == MPI_SUCCESS) return true;
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  if (planned.may_fail &&
      std::any_of(possible_errors_.begin(), possible_errors_.end(),
                  [&](int64_t error) { return class_of(error) == error_class; })) {
    note_failure(planned);
    return false;
  }
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  report_.fail(planned, std::string(call) + " failed: " + text);
}

bool CallOutcomes::failed_on_any(bool failed) const {
  int mine = failed, any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any != 0;
}

bool CallOutcomes::failed_on_all(const Planned& planned, MPI_Comm communicator, bool failed) const {
  const int mine[2] = {failed, !failed};
  int any[2] = {};
  MPI_Allreduce(mine, any, 2, MPI_INT, MPI_MAX, communicator);
  if (any[0] != 0 && any[1] != 0) report_.fail(planned, "failed on some ranks and not on others");
  return any[0] != 0;
}

void CallOutcomes::note_failure(const Planned& planned) {
  const uint32_t id = operation_id(planned.operation.number, planner_.rank());
  if (planned.mine) planned.mine->uncertain = true;
  failed_.push_back(id);
  if (history_ != nullptr) history_->note_failure(id);
}

void CallOutcomes::agree_on_failures() {
  const int mine = static_cast<int>(failed_.size());
  std::vector<int> counts(static_cast<std::size_t>(planner_.ranks())), begins(counts.size());
  MPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (std::size_t rank = 1; rank < counts.size(); ++rank) {
    begins[rank] = begins[rank - 1] + counts[rank - 1];
  }
  std::vector<uint32_t> all(static_cast<std::size_t>(begins.back() + counts.back()));
  MPI_Allgatherv(failed_.data(), mine, MPI_UINT32_T, all.data(), counts.data(), begins.data(),
                 MPI_UINT32_T, MPI_COMM_WORLD);
  planner_.mark_failed({all.begin(), all.end()});
  failed_.clear();
}

}  // namespace random_io
