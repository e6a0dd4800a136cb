// What a process will access next in a file, as its I/O signature tells (src/pattern), which is
// folded while the accesses happen. The forecast reaches as far as its user asks for, through whole
// repetitions of what the process did before. It does no I/O.
#pragma once

#include <cstdint>

#include "extent/extent.h"
#include "pattern/folder.h"

namespace forebay {

class Forecast {
 public:
  Forecast();

  // Takes an access. True: it was foreseen as the next one. False: it was not, and all accesses
  // that were foreseen are void.
  bool take(Extent access);

  // Foresees the access after those that are foreseen. False: it is not known, or not before more
  // accesses have come true.
  bool foresee(Extent* access);

 private:
  pattern::Folder folder_;
  bool follows_ = false;    // the signature expects a next access
  pattern::Walk ahead_;     // from the access after those foreseen on; used while follows_
  uint64_t foreseen_ = 0;   // accesses, not yet taken
  uint64_t came_true_ = 0;  // since the last access that was not foreseen
};

}  // namespace forebay
