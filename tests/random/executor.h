// Carries out a schedule with the MPI library under test, and compares every result with the model.
// The first difference ends the rank.
#pragma once

#include <string>
#include <vector>

#include "rank.h"
#include "transfers.h"

namespace random_io {

class Executor {
 public:
  Executor(Planner& planner, const Features& features, RunSettings settings);

  // Adds the next operation of the schedule.
  void add(const Operation& operation);
  // Carries out the remaining operations, closes every handle and compares every file.
  void finish();

  const FailureReport& report() const { return rank_.report; }

 private:
  void meet(int number);
  void run_stretch();
  void carry_out(const Planned& planned);
  void perform(const Planned& planned);

  Rank rank_;
  Transfers transfers_;
  std::vector<Planned> stretch_;
};

}  // namespace random_io
