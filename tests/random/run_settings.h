// The settings of a run: the place of its files, and how to repeat it.
#pragma once

#include <string>
#include <vector>

#include "history.h"

namespace random_io {

struct RunSettings {
  std::string directory;  // folder of the files
  std::string log;        // where to write the schedule after a failure
  std::string heading;    // first line of that log: how to repeat the run
  int operation_timeout_s = 60;
  History* history = nullptr;        // if the job has lives: the files are those of the life before
  std::vector<Operation> earlier{};  // operations of that life
};

}  // namespace random_io
