// The table of replacement policies. Options, hints, simulators, tests and documentation take
// theirs from it.
#include "policy/lru.h"
#include "policy/policy.h"

namespace forebay {
namespace {

constexpr PolicySpec specs[] = {
    {"lru", "least recently used", LruPolicy::state_bytes, LruPolicy::attach},
};

}  // namespace

std::span<const PolicySpec> policies() { return specs; }

const PolicySpec* find_policy(std::string_view name) {
  for (const PolicySpec& spec : specs) {
    if (name == spec.name) return &spec;
  }
  return nullptr;
}

}  // namespace forebay
