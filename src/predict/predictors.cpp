// The table of predictors. Options, hints, simulators, tests and documentation use it.
#include "predict/markov.h"
#include "predict/predictor.h"
#include "predict/sequential.h"
#include "predict/signature.h"

namespace forebay {
namespace {

template <typename Variant>
std::unique_ptr<Predictor> make(int64_t largest_window_bytes, int64_t join_bytes) {
  return std::make_unique<Variant>(largest_window_bytes, join_bytes);
}

constexpr PredictorSpec specs[] = {
    {"signature", "what the reads' I/O signature says; runs and steps where it says nothing yet",
     make<SignaturePredictor>},
    {"sequential", "contiguous runs, equal steps, rows of equal steps", make<SequentialPredictor>},
    {"markov", "what followed the last two accesses before, for repeated reads in any order",
     make<MarkovPredictor>},
};

}  // namespace

std::span<const PredictorSpec> predictors() { return specs; }

const PredictorSpec* find_predictor(std::string_view name) {
  for (const PredictorSpec& spec : specs) {
    if (name == spec.name) return &spec;
  }
  return nullptr;
}

}  // namespace forebay
