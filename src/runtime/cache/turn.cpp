#include "runtime/cache/turn.h"

#include <utility>

#include "extent/status.h"

namespace forebay::runtime {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local bool noting = false;
// Made for the first step, so that threads that note none have no memory for them.
[[gnu::tls_model("initial-exec")]] thread_local std::vector<NumberedStep>* steps = nullptr;

}  // namespace

Turn::Turn(Registry& registry, Numbering numbering) : registry_(&registry) {
  if (numbering == Numbering::none) return;
  if (numbering == Numbering::turns) {
    registry.turn.lock();
    locked_ = &registry;
  }
  draw();
}

Turn::~Turn() {
  if (locked_ != nullptr) locked_->turn.unlock();
}

void Turn::next() {
  if (sequence_ != 0) draw();
}

void Turn::draw() {
  sequence_ = registry_->last_sequence.fetch_add(1, std::memory_order_relaxed) + 1;
}

void NumberedSteps::begin() {
  (void)end();
  noting = true;
}

void NumberedSteps::note(const NumberedStep& step) {
  if (!noting) return;
  (void)within_memory([&] {  // else it is missing
    if (steps == nullptr) steps = new std::vector<NumberedStep>;
    steps->push_back(step);
  });
}

std::vector<NumberedStep> NumberedSteps::end() {
  noting = false;
  if (steps == nullptr) return {};
  std::vector<NumberedStep> noted = std::move(*steps);
  delete std::exchange(steps, nullptr);
  return noted;
}

}  // namespace forebay::runtime
