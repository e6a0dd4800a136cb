// The table of assignments of a file's bytes to owners. Options and tests use it.
#include "domain/cyclic.h"
#include "domain/file_domains.h"
#include "domain/first_touch.h"
#include "domain/region.h"
#include "domain/stripe.h"
#include "domain/whole_file.h"

namespace forebay {
namespace {

constexpr AssignmentSpec specs[] = {
    {"region", "an equal part of the region that is written first", assign_region},
    {"file", "an equal part of the file", assign_file},
    {"cyclic", "chunks of domain_size in turn", assign_cyclic},
    {"first-touch", "chunks of domain_size, each for the node that first writes to it",
     assign_first_touch},
    {"stripe", "the file system's stripes, each server's for one node", assign_stripe},
    {"dynamic", "as region, anew for each file view", assign_region},
};

}  // namespace

std::span<const AssignmentSpec> assignments() { return specs; }

const AssignmentSpec* find_assignment(std::string_view name) {
  for (const AssignmentSpec& spec : specs) {
    if (name == spec.name) return &spec;
  }
  return nullptr;
}

}  // namespace forebay
