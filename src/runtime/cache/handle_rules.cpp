#include "runtime/cache/handle_rules.h"

namespace forebay::runtime {

HandleRules rules_of(const Options& options) {
  constexpr SteppingAside stepping_aside[] = {SteppingAside::automatic, SteppingAside::never,
                                              SteppingAside::always};
  HandleRules rules;
  rules.bypass_bytes = options.bypass_bytes;
  rules.read_ahead_bytes = options.read_ahead_bytes;
  rules.local_bypass_bytes = options.local_bypass_bytes;
  rules.dirty_bound = options.dirty_bound;
  rules.write_behind = options.write_behind;
  rules.deterministic = options.deterministic;
  rules.step_aside = stepping_aside[static_cast<int>(options.step_aside)];
  rules.predictor = find_predictor(options.predictor);
  return rules;
}

CacheShape shape_of(const Options& options) {
  return {find_page_kind(options.page_kind),
          find_policy(options.policy),
          options.page_size_bytes,
          options.cache_size_bytes,
          options.shards,
          options.write_back_buffer};
}

}  // namespace forebay::runtime
