// Stops after every instruction of a piece of code, by the processor's single-step trap. Defines
// FOREBAY_SINGLE_STEP if there is such a trap, and no sanitizer adds instructions.
#pragma once

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOREBAY_SINGLE_STEP 1

#include <signal.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <cstdint>
#include <functional>

namespace forebay::test {

inline constexpr uint64_t trap_flag = 0x100;  // in the processor's flags: trap after an instruction
inline const std::function<bool()>* after_instruction;

inline void on_trap(int, siginfo_t*, void* context) {
  if ((*after_instruction)()) return;
  auto& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
  flags &= ~static_cast<greg_t>(trap_flag);
}

// Runs `work`, and calls `after_each` after each of its instructions until that returns false.
// `after_each` runs in a signal handler, so it must not allocate where `work` does.
inline void single_step(const std::function<void()>& work,
                        const std::function<bool()>& after_each) {
  struct sigaction action {};
  struct sigaction before;
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &before);
  after_instruction = &after_each;
  __writeeflags(__readeflags() | trap_flag);
  work();
  __writeeflags(__readeflags() & ~trap_flag);
  sigaction(SIGTRAP, &before, nullptr);
}

}  // namespace forebay::test
#endif
