// Carries a schedule out with the MPI library under test and holds every result against the model.
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

  // The next operation of the schedule.
  void add(const Operation& operation);
  // Carries out what is left, closes every handle and compares every file.
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
