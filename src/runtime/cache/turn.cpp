#include "runtime/cache/turn.h"

namespace forebay::runtime {
namespace {

// More steps than any MPI routine takes.
constexpr std::size_t most_steps = 8;
[[gnu::tls_model("initial-exec")]] thread_local std::array<NumberedStep, most_steps> steps;
[[gnu::tls_model("initial-exec")]] thread_local std::size_t step_count = 0;

}  // namespace

Turn::Turn(Registry& registry, Numbering numbering) {
  if (numbering == Numbering::none) return;
  if (numbering == Numbering::turns) {
    registry.turn.lock();
    locked_ = &registry;
  }
  sequence_ = registry.last_sequence.fetch_add(1, std::memory_order_relaxed) + 1;
}

Turn::~Turn() {
  if (locked_ != nullptr) locked_->turn.unlock();
}

void NumberedSteps::note(const NumberedStep& step) {
  if (step_count < most_steps) steps[step_count++] = step;
}

std::span<const NumberedStep> NumberedSteps::all() { return {steps.data(), step_count}; }

void NumberedSteps::forget() { step_count = 0; }

}  // namespace forebay::runtime
