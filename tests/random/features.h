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
  // The ranks are on so many nodes in turn. Each file's bytes have owners once ranks of several
  // nodes have it open; schedules leave out opens on nodes that cannot know of them. 1: all ranks
  // see one cache, or the visibility of the standard is enough.
  void set_nodes(int nodes) { nodes_ = nodes; }
  int nodes() const { return nodes_; }

 private:
  std::set<std::string, std::less<>> disabled_;
  int nodes_ = 1;
};

}  // namespace random_io
