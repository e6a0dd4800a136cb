// The network that libfabric reaches: reliable datagrams (endpoints of type FI_EP_RDM) of whichever
// provider that library prefers, or the environment names (FI_PROVIDER). The library is loaded at
// run time.
#pragma once

#include <memory>
#include <string>

#include "fabric/fabric.h"

namespace forebay::fabric {

// Null: *why says in a few words why there is no such network here.
std::unique_ptr<Fabric> open_libfabric(std::string* why);

}  // namespace forebay::fabric
