// The names of operations and features that schedules and checks leave out. exclusions.cpp lists
// the features.
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
