// What a run is told: where its files are, and how it can be had again.
#pragma once

#include <string>
#include <vector>

#include "history.h"

namespace random_io {

struct RunSettings {
  std::string directory;  // where the files are made
  std::string log;        // where the schedule goes on failure
  std::string heading;    // first line of that log: how to run it again
  int operation_timeout_s = 60;
  History* history = nullptr;        // where it has lives: the files are those of the one before
  std::vector<Operation> earlier{};  // operations of that life
};

}  // namespace random_io
