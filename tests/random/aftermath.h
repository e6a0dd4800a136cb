// What the files of a job may contain after it was killed, or had ended with failing storage, and
// whether they do.
#pragma once

#include <string>

#include "features.h"
#include "history.h"

namespace random_io {

struct Aftermath {
  int last_number = 0;                // of the life's schedule
  std::vector<Operation> operations;  // those operations that any rank had begun
  std::string violation;              // "": the files contain what they may
};

// Compares the files in `folder` with what the ranks of the life had begun and completed.
Aftermath examine(const History& life, const std::string& folder, int ranks,
                  const Features& features);

std::string describe_writer(uint32_t id);
std::string file_path(const std::string& folder, int file, int alias);

}  // namespace random_io
