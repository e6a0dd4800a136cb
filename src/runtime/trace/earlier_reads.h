// The reads that a process of an earlier run made, from its trace (option predict_from).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "extent/status.h"
#include "pattern/signature.h"

namespace forebay::runtime {

// Immutable once loaded.
class EarlierReads {
 public:
  // Reads the trace of the process with this rank in the folder. *problem: why there is none, or
  // what it lacks; empty: it is complete. Null: there is none, or no memory for it.
  static std::shared_ptr<const EarlierReads> load(const std::string& folder, int64_t rank,
                                                  std::string* problem);

  // What the process read through its `number`-th open of the file, from 0, each run of bytes by
  // itself. Null: nothing.
  std::shared_ptr<const pattern::Signature> of(const std::string& file, std::size_t number) const;

 private:
  std::map<std::string, std::vector<std::shared_ptr<const pattern::Signature>>> files_;
};

}  // namespace forebay::runtime
