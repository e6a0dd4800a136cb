// The table of replacement policies. Options, hints, simulators, tests and documentation use it.
#include "policy/arc.h"
#include "policy/fcf.h"
#include "policy/fifo.h"
#include "policy/informed.h"
#include "policy/lfu.h"
#include "policy/lru.h"
#include "policy/policy.h"
#include "policy/s3_fifo.h"
#include "policy/sieve.h"

namespace forebay {
namespace {

constexpr PolicySpec specs[] = {
    policy_spec<LruPolicy>("lru", "least recently used"),
    policy_spec<FifoPolicy>("fifo", "first in, first out"),
    policy_spec<LfuPolicy>("lfu", "least frequently used"),
    policy_spec<ArcPolicy>("arc", "adaptive replacement: balances recency and frequency"),
    policy_spec<SievePolicy>("sieve", "the oldest page without a use since the last look at it"),
    policy_spec<S3FifoPolicy>("s3fifo",
                              "a small queue for new pages, a main queue for reused ones"),
    policy_spec<FcfPolicy>("fcf", "the cheapest commit first, among pages unused for long"),
    policy_spec<InformedPolicy>("informed",
                                "what is accessed last again, as far as accesses repeat"),
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
