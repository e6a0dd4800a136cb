// A stack for code that gives way in its midst and goes on later, by its own will. Unlike
// swapcontext, it leaves the signal mask alone: that takes a system call, far longer than the rest.
#pragma once

#include <cstddef>

namespace forebay::sim {

class OwnStack {
 public:
  // `main` begins with the first enter(). It never returns.
  explicit OwnStack(void (*main)());
  ~OwnStack();
  OwnStack(const OwnStack&) = delete;
  OwnStack& operator=(const OwnStack&) = delete;

  // Runs what is on this stack, until that calls leave().
  void enter();
  void leave();

 private:
  std::byte* memory_;
  // Where each goes on while the other one runs.
  void* inside_;
  void* outside_ = nullptr;
};

}  // namespace forebay::sim
