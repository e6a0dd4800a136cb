// Stands in for libfabric.cpp where libfabric's headers were not found.
#include "fabric/libfabric.h"

namespace forebay::fabric {

std::unique_ptr<Fabric> open_libfabric(std::string* why) {
  *why = "this Forebay was built without libfabric's headers";
  return nullptr;
}

}  // namespace forebay::fabric
