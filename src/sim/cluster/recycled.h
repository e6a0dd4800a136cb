// Parts of a cluster that are used again once they are not under way, so that few are allocated.
#pragma once

#include <memory>
#include <vector>

namespace forebay::sim {

template <typename Part>
class Recycled {
 public:
  // `owner`: what a new part is made with.
  template <typename Owner>
  Part& take(Owner& owner) {
    if (free_.empty()) {
      all_.push_back(std::make_unique<Part>(owner));
      return *all_.back();
    }
    Part& part = *free_.back();
    free_.pop_back();
    return part;
  }
  void give_back(Part& part) { free_.push_back(&part); }

 private:
  std::vector<std::unique_ptr<Part>> all_;
  std::vector<Part*> free_;
};

}  // namespace forebay::sim
