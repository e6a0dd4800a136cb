// The variants in the tables, and the templates of docs/adding-a-variant.md, for tests that all
// variants must pass.
#pragma once

#include <string>
#include <vector>

#include "page/page_kind.h"
#include "policy/policy.h"
#include "templates/page_kind_template.h"
#include "templates/policy_template.h"

namespace forebay::test {

inline std::vector<const PageKind*> page_kinds_and_template() {
  static const templates::BytePage byte_page;
  std::vector<const PageKind*> out(page_kinds().begin(), page_kinds().end());
  out.push_back(&byte_page);
  return out;
}

// The policies that simulators of blocks run by themselves: `informed` is told what handles
// foresee.
inline std::vector<PolicySpec> policies_of_blocks() {
  std::vector<PolicySpec> out(policies().begin(), policies().end());
  std::erase_if(out, [](const PolicySpec& spec) { return spec.name == std::string("informed"); });
  return out;
}

inline std::vector<PolicySpec> policies_and_template() {
  std::vector<PolicySpec> out(policies().begin(), policies().end());
  out.push_back(policy_spec<templates::RandomPolicy>("random", "any resident frame"));
  return out;
}

}  // namespace forebay::test
