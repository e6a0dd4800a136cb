#include "pattern/pattern.h"

namespace forebay::pattern {

namespace {

constexpr double fixed_at_most = 0.1;  // largest deviation over mean of fixed intervals

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

bool same_bodies(const Pattern& a, const Pattern& b) {
  return std::equal(a.body.begin(), a.body.end(), b.body.begin(), b.body.end(),
                    [](const Pattern& x, const Pattern& y) { return x.same_accesses(y); });
}

}  // namespace

void Intervals::add(const Intervals& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const auto shift = static_cast<double>(minus(other.origin_ns, origin_ns));
  const auto others = static_cast<double>(other.count);
  sum_of_squares += other.sum_of_squares + 2 * shift * other.sum + others * shift * shift;
  sum += other.sum + others * shift;
  count += other.count;
  least_ns = std::min(least_ns, other.least_ns);
  most_ns = std::max(most_ns, other.most_ns);
}

double Intervals::mean_ns() const {
  if (count == 0) return 0;
  return static_cast<double>(origin_ns) + sum / static_cast<double>(count);
}

double Intervals::deviation_ns() const {
  if (count == 0) return 0;
  const auto number = static_cast<double>(count);
  return std::sqrt(std::max(0.0, (sum_of_squares - sum * sum / number) / number));
}

bool Intervals::fixed() const { return deviation_ns() <= fixed_at_most * mean_ns(); }

uint64_t Pattern::accesses() const {
  if (!is_loop()) return 1;
  uint64_t number = 0;
  for (const Pattern& part : body) number += part.accesses();
  return count * number;
}

uint32_t Pattern::depth() const {
  if (!is_loop()) return 0;
  uint32_t deepest = 0;
  for (const Pattern& part : body) deepest = std::max(deepest, part.depth());
  return deepest + 1;
}

uint64_t Pattern::structure() const {
  uint64_t hash = mixed(operation, count);
  for (const Step& step : steps) {
    hash = mixed(hash, static_cast<uint64_t>(step.offset));
    hash = mixed(hash, static_cast<uint64_t>(step.size));
  }
  for (const Pattern& part : body) hash = mixed(hash, part.structure());
  return hash;
}

std::size_t Pattern::memory_bytes() const {
  std::size_t bytes = sizeof(Pattern) + steps.size() * sizeof(Step);
  for (const Pattern& part : body) bytes += part.memory_bytes();
  return bytes;
}

bool Pattern::same_accesses(const Pattern& other) const {
  return count == other.count && offset == other.offset && size == other.size &&
         operation == other.operation && steps == other.steps && same_bodies(*this, other);
}

void Pattern::move(int64_t distance) {
  if (!is_loop()) offset = plus(offset, distance);
  for (Pattern& part : body) part.move(distance);
}

void Pattern::forget_times() {
  intervals = {};
  for (Pattern& part : body) part.forget_times();
}

void Pattern::add_times(const Pattern& other) {
  intervals.add(other.intervals);
  for (std::size_t i = 0; i < body.size(); ++i) body[i].add_times(other.body[i]);
}

void Pattern::bind(std::span<const uint64_t> iterations, std::size_t loops_within) {
  for (Pattern& part : body) part.bind(iterations, loops_within + 1);
  if (is_loop()) return;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const Step& step = steps[loops_within + i];
    offset = plus(offset, times(step.offset, iterations[i]));
    size = plus(size, times(step.size, iterations[i]));
  }
  steps.resize(loops_within);
}

bool in_progression(const Pattern& a, const Pattern& b, const Pattern& c) {
  if (a.count != b.count || b.count != c.count || a.operation != b.operation ||
      b.operation != c.operation || a.body.size() != b.body.size() ||
      b.body.size() != c.body.size() || a.steps != b.steps || b.steps != c.steps ||
      minus(b.offset, a.offset) != minus(c.offset, b.offset) ||
      minus(b.size, a.size) != minus(c.size, b.size)) {
    return false;
  }
  for (std::size_t i = 0; i < a.body.size(); ++i) {
    if (!in_progression(a.body[i], b.body[i], c.body[i])) return false;
  }
  return true;
}

bool same_body(const Pattern& loop, const Pattern& longer) {
  return loop.is_loop() && longer.is_loop() && same_bodies(loop, longer);
}

}  // namespace forebay::pattern
