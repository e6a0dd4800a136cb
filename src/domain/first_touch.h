// Each chunk for the node that first writes to it (Settlemyer 2009, 4.1.2.1: a directory): bytes of
// a job whose ranks keep to their own parts stay on their nodes. The directory is dealt out to the
// nodes like the chunks of a cyclic assignment.
#pragma once

#include "domain/cyclic.h"

namespace forebay {

inline FileDomains assign_first_touch(const DomainFacts& facts) {
  return assign_cyclic(facts).by_first_touch();
}

}  // namespace forebay
