// The table of replacement policies. Options, hints, simulators, tests and documentation take
// theirs from it.
#include "policy/arc.h"
#include "policy/fcf.h"
#include "policy/fifo.h"
#include "policy/lfu.h"
#include "policy/lru.h"
#include "policy/policy.h"
#include "policy/s3_fifo.h"
#include "policy/sieve.h"

namespace forebay {
namespace {

constexpr PolicySpec specs[] = {
    {"lru", "least recently used", LruPolicy::state_bytes, LruPolicy::attach},
    {"fifo", "first in, first out", FifoPolicy::state_bytes, FifoPolicy::attach},
    {"lfu", "least frequently used", LfuPolicy::state_bytes, LfuPolicy::attach},
    {"arc", "adaptive replacement: recency and frequency by what comes back",
     ArcPolicy::state_bytes, ArcPolicy::attach},
    {"sieve", "oldest that was not used since it was last passed over", SievePolicy::state_bytes,
     SievePolicy::attach},
    {"s3fifo", "a small queue for newcomers, a main one for what is used again",
     S3FifoPolicy::state_bytes, S3FifoPolicy::attach},
    {"fcf", "fastest commit first of what was not used for long", FcfPolicy::state_bytes,
     FcfPolicy::attach},
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
