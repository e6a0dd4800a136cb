#include "pattern/notation.h"

#include <algorithm>
#include <array>
#include <vector>

namespace forebay::pattern {

namespace {

using Text = std::string;

// Whether a loop is one access, repeated at the same place.
bool repeats_in_place(const Pattern& loop) {
  return loop.is_loop() && loop.body.size() == 1 && !loop.body[0].is_loop() &&
         loop.body[0].steps[0] == Step{};
}

Text name_of_operation(uint8_t operation, Operations operations) {
  if (operation < operations.size()) return operations[operation].name;
  return "operation_" + std::to_string(operation);
}

void gather_operations(const Pattern& pattern, std::vector<uint8_t>& found) {
  if (!pattern.is_loop() && !std::count(found.begin(), found.end(), pattern.operation)) {
    found.push_back(pattern.operation);
  }
  for (const Pattern& part : pattern.body) gather_operations(part, found);
}

Text operations_of(const std::vector<uint8_t>& found, Operations operations) {
  Text text;
  for (const uint8_t operation : found) {
    text += (text.empty() ? "" : "+") + name_of_operation(operation, operations);
  }
  return text;
}

// Writes the elements of a loop.
class Writer {
 public:
  Writer(int64_t position, bool with_operations, Operations operations)
      : position_(position), with_operations_(with_operations), operations_(operations) {}

  Text body(const Pattern& loop) const {
    Text text;
    for (std::size_t i = 0; i < loop.body.size(); ++i) {
      const Text inner = element(loop.body[i], loop.intervals);
      text += i == 0 ? "(" + inner + ")" : ", [" + inner + "]";
    }
    return text;
  }

 private:
  Text element(const Pattern& pattern, const Intervals& around) const {
    if (!pattern.is_loop()) return access(pattern, 0, 1, around);
    if (repeats_in_place(pattern)) return access(pattern.body[0], 1, pattern.count, around);
    return body(pattern) + ", " + std::to_string(pattern.count);
  }

  // Writes one access, without the steps of its `inner` innermost loops.
  Text access(const Pattern& pattern, std::size_t inner, uint64_t repetitions,
              const Intervals& around) const {
    Text strides;
    Text growth;
    bool grows = false;
    for (std::size_t level = inner; level < pattern.steps.size(); ++level) {
      const Step& step = pattern.steps[level];
      const char* const separator = level == inner ? "" : "/";
      strides += separator + std::to_string(step.offset);
      growth += separator + std::to_string(step.size);
      grows = grows || step.size != 0;
    }
    Text text = with_operations_ ? name_of_operation(pattern.operation, operations_) + " " : "";
    text += "{" + std::to_string(plus(position_, pattern.offset)) + ", " + strides + ", 1}, ";
    text += grows ? "{" + std::to_string(pattern.size) + ", " + growth + "}"
                  : std::to_string(pattern.size);
    text += ", " + std::to_string(repetitions);
    if (around.count > 0 && around.fixed()) text += ", fixed_interval";
    return text;
  }

  int64_t position_;
  bool with_operations_;
  Operations operations_;
};

bool stays(const Pattern& loop, std::size_t level = 0) {
  return std::all_of(loop.body.begin(), loop.body.end(), [&](const Pattern& part) {
    return part.is_loop() ? stays(part, level + 1) : part.steps[level] == Step{};
  });
}

Text raw_signature(const Signature& signature, const Part& part, std::string_view file,
                   Operations operations) {
  std::vector<uint8_t> found;
  int64_t position = 0;
  Cursor cursor(signature, part.first);
  Access access;
  for (uint64_t i = 0; i < part.accesses && cursor.next(access); ++i) {
    if (i == 0) position = access.offset;
    if (!std::count(found.begin(), found.end(), access.operation))
      found.push_back(access.operation);
  }
  return "{" + operations_of(found, operations) + ", " + Text(file) + ", " +
         std::to_string(position) + ", 0, random, " + std::to_string(part.accesses) + ", 1}";
}

}  // namespace

Text trace_signature(const Signature& signature, const Part& part, std::string_view file,
                     Operations operations) {
  if (part.kind == Part::Kind::lost) {
    return "{lost, " + Text(file) + ", " + std::to_string(part.accesses) + "}";
  }
  if (part.kind == Part::Kind::raw) return raw_signature(signature, part, file, operations);
  const Pattern& pattern = signature.patterns[part.pattern];
  std::vector<uint8_t> found;
  gather_operations(pattern, found);
  Text text = "{" + operations_of(found, operations) + ", " + Text(file) + ", ";
  text += std::to_string(part.position) + ", ";
  text += std::to_string(classify(pattern, operations, 1).dimension) + ", ";
  // If a loop around one loop repeats the same places, its count is the number of repetitions.
  const bool whole_again = pattern.body.size() == 1 && pattern.body[0].is_loop() && stays(pattern);
  Pattern once = whole_again ? pattern.body[0] : pattern;
  const std::array<uint64_t, 1> first_time{0};
  if (whole_again) once.bind(first_time);
  text += Writer(part.position, found.size() > 1, operations).body(once) + ", ";
  text += std::to_string(once.count) + ", " + std::to_string(whole_again ? pattern.count : 1);
  return text + "}";
}

Text trace_signature(const Signature& signature, std::string_view file, Operations operations) {
  Text text;
  for (const Part& part : signature.parts) {
    text += trace_signature(signature, part, file, operations) + "\n";
  }
  return text;
}

Text pattern_signature(const Classes& classes) {
  return pattern_signature(classes, classes.repetitions);
}

Text pattern_signature(const Classes& classes, uint64_t most_repetitions) {
  Text text = "{" + Text(name_of(classes.direction)) + ", <";
  if (classes.backward && classes.spatial != Spatial::negative_stride) text += "negative ";
  text += Text(name_of(classes.spatial)) + ", " + std::to_string(classes.dimension) + ">, <";
  text += most_repetitions == 1 ? "single" : "repeated " + std::to_string(classes.repetitions);
  if (most_repetitions != classes.repetitions) text += " to " + std::to_string(most_repetitions);
  text += ">, <" + Text(name_of(classes.magnitude)) + ", " + Text(name_of(classes.sizes)) + ">, <";
  return text + Text(name_of(classes.temporal)) + ">}";
}

}  // namespace forebay::pattern
