// What is left out of the schedules and of the checks: names of operations, and the features that
// exclusions.cpp lists.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace random_io {

class Features {
 public:
  void disable(std::string_view name) { disabled_.emplace(name); }
  bool enabled(std::string_view name) const { return !disabled_.contains(name); }

 private:
  std::set<std::string, std::less<>> disabled_;
};

}  // namespace random_io
