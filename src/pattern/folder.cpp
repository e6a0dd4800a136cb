#include "pattern/folder.h"

#include <utility>

#include "pattern/raw_run.h"

namespace forebay::pattern {

namespace {

constexpr std::size_t blocks_in_a_loop = 3;  // with equal steps, that make a loop

// Makes `first` a part of a loop's body; `second` is the same part in the next iteration.
void add_step(Pattern& first, const Pattern& second) {
  if (!first.is_loop()) {
    first.steps.push_back({minus(second.offset, first.offset), minus(second.size, first.size)});
  }
  for (std::size_t i = 0; i < first.body.size(); ++i) add_step(first.body[i], second.body[i]);
}

}  // namespace

Folder::Folder(Limits limits) : limits_(limits), window_(blocks_in_a_loop * limits.look_back) {
  terms_.reserve(2 * window_);
  offsets_.reserve(2 * window_);
  keys_.reserve(2 * window_);
}

Pattern Folder::Term::pattern() && {
  if (loop) return std::move(*loop);
  Pattern pattern;
  pattern.offset = access.offset;
  pattern.size = access.size;
  pattern.operation = access.operation;
  return pattern;
}

void Folder::learn(const Access& access, int64_t start_ns, int64_t end_ns) {
  while (following_) {
    if (follower_.expects(access)) {
      follower_.pass(start_ns);
      end_ns_ = end_ns;
      return;
    }
    close();
  }
  push({access, nullptr, start_ns, end_ns});
  fold();
}

// Adds what remains of a closed loop.
void Folder::take(Pattern pattern, int64_t start_ns, int64_t end_ns) {
  const Pattern& first = pattern.first_access();
  const Access access{first.offset, first.size, first.operation};
  if (!pattern.is_loop()) return learn(access, start_ns, end_ns);
  while (following_) {
    if (follower_.pass_loop(pattern, start_ns)) {
      end_ns_ = end_ns;
      return;
    }
    close();
  }
  const uint64_t count = pattern.count;
  push({access, std::make_unique<Pattern>(std::move(pattern)), start_ns, end_ns});
  follow(count, unknown_time);
}

// The last term is a loop of so many iterations; starts to predict its continuation.
void Folder::follow(uint64_t iterations, int64_t last_start_ns) {
  follower_ = Follower(*terms_.back().loop, iterations, last_start_ns);
  following_ = true;
  ++generation_;
  end_ns_ = terms_.back().end_ns;
}

void Folder::push(Term&& term) {
  if (terms_.size() == 2 * window_) retire(window_);
  const Access& first = term.access;
  const uint64_t structure = term.loop ? term.loop->structure() : first.operation;
  offsets_.push_back(static_cast<uint64_t>(first.offset));
  keys_.push_back({first.size, structure});
  terms_.push_back(std::move(term));
}

// The last loop has ended and becomes a term like others. The accesses of its incomplete iteration
// are added after it. This ends, because each loop found among them reduces the number of terms.
void Folder::close() {
  following_ = false;
  ++generation_;
  Term& loop = terms_.back();
  loop.end_ns = end_ns_;
  loop.loop->count = follower_.whole_iterations();
  keys_.back().structure = loop.loop->structure();
  std::vector<Pattern> rest = follower_.remainder();
  const int64_t end_ns = end_ns_;
  int64_t start_ns = follower_.iteration_start_ns();
  fold();
  for (Pattern& pattern : rest) {
    take(std::move(pattern), start_ns, end_ns);
    start_ns = unknown_time;
  }
}

// Looks for three blocks at the end of the stack, shortest first.
void Folder::fold() {
  const std::size_t longest =
      std::min<std::size_t>(limits_.look_back, terms_.size() / blocks_in_a_loop);
  const uint64_t* const last = &offsets_.back();
  for (std::size_t length = 1; length <= longest; ++length) {
    // The offsets of the blocks' last accesses nearly always suffice to reject.
    if (2 * *(last - length) - *(last - 2 * length) != *last) continue;
    if (three_blocks(length)) return make_loop(length);
  }
}

// Whether the keys and offsets of terms `last`, `last - distance` and `last - 2 * distance` are in
// progression.
bool Folder::progress(std::size_t last, std::size_t distance) const {
  const Key& c = keys_[last];
  const Key& b = keys_[last - distance];
  const Key& a = keys_[last - 2 * distance];
  return 2 * offsets_[last - distance] - offsets_[last - 2 * distance] == offsets_[last] &&
         b.structure == c.structure && a.structure == b.structure &&
         minus(b.size, a.size) == minus(c.size, b.size);
}

bool Folder::three_blocks(std::size_t length) const {
  for (std::size_t i = 0; i < length; ++i) {
    if (!progress(terms_.size() - 1 - i, length)) return false;
  }
  for (std::size_t i = terms_.size() - length; i < terms_.size(); ++i) {
    const Pattern* const a = terms_[i - 2 * length].loop.get();
    const Pattern* const b = terms_[i - length].loop.get();
    const Pattern* const c = terms_[i].loop.get();
    if (!a != !b || !b != !c || (a && !in_progression(*a, *b, *c))) return false;
  }
  return true;
}

void Folder::make_loop(std::size_t length) {
  const std::size_t begin = terms_.size() - blocks_in_a_loop * length;
  Term* const blocks[] = {&terms_[begin], &terms_[begin + length], &terms_[begin + 2 * length]};
  Term term{blocks[0]->access, std::make_unique<Pattern>(), blocks[0]->start_ns,
            terms_.back().end_ns};
  Pattern& loop = *term.loop;
  loop.count = blocks_in_a_loop;
  loop.body.reserve(length);
  for (std::size_t i = 0; i < length; ++i) {
    const Pattern second = std::move(blocks[1][i]).pattern();
    loop.body.push_back(std::move(blocks[0][i]).pattern());
    add_step(loop.body.back(), second);
    loop.body.back().add_times(second);
    loop.body.back().add_times(std::move(blocks[2][i]).pattern());
  }
  for (std::size_t i = 1; i < blocks_in_a_loop; ++i) {
    if (blocks[i - 1]->start_ns == unknown_time || blocks[i]->start_ns == unknown_time) continue;
    loop.intervals.add(minus(blocks[i]->start_ns, blocks[i - 1]->start_ns));
  }
  const int64_t last_start_ns = blocks[2]->start_ns;
  terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(begin), terms_.end());
  offsets_.resize(begin);
  keys_.resize(begin);
  push(std::move(term));
  follow(blocks_in_a_loop, last_start_ns);
}

Signature Folder::finish() {
  while (following_) close();
  retire(terms_.size());
  ++generation_;
  known_.clear();
  pattern_bytes_ = 0;
  last_raw_ = {};
  return std::exchange(signature_, {});
}

// Moves the oldest terms to the signature.
void Folder::retire(std::size_t terms) {
  for (std::size_t i = 0; i < terms; ++i) {
    if (terms_[i].loop) {
      retire_loop(terms_[i]);
    } else {
      retire_access(terms_[i]);
    }
  }
  terms_.erase(terms_.begin(), terms_.begin() + static_cast<std::ptrdiff_t>(terms));
  offsets_.erase(offsets_.begin(), offsets_.begin() + static_cast<std::ptrdiff_t>(terms));
  keys_.erase(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(terms));
}

Part& Folder::append_part(Part::Kind kind, const Term& term) {
  Part part;
  part.kind = kind;
  part.first = signature_.accesses;
  part.raw_begin = signature_.raw.size();
  part.start_ns = term.start_ns;
  if (part.start_ns == unknown_time && !signature_.parts.empty()) {
    part.start_ns = signature_.parts.back().end_ns;
  }
  signature_.parts.push_back(part);
  return signature_.parts.back();
}

void Folder::retire_access(const Term& term) {
  if (signature_.raw.size() >= limits_.raw_bytes) return lose(term, 1);
  const bool continues = !signature_.parts.empty() &&
                         signature_.parts.back().kind == Part::Kind::raw &&
                         signature_.parts.back().accesses < longest_raw_run;
  Part& part = continues ? signature_.parts.back() : append_part(Part::Kind::raw, term);
  if (!continues) last_raw_ = {};
  append_raw(signature_.raw, last_raw_, term.access);
  last_raw_ = term.access;
  ++part.accesses;
  ++signature_.accesses;
  part.end_ns = term.end_ns;
}

void Folder::retire_loop(Term& term) {
  Pattern& pattern = *term.loop;
  const int64_t position = term.access.offset;
  const uint64_t accesses = pattern.accesses();
  const uint64_t structure = pattern.structure();
  if (pattern_bytes_ + sizeof(Part) > limits_.pattern_bytes) return lose(term, accesses);
  pattern.move(minus(0, position));
  auto [same, end] = known_.equal_range(structure);
  while (same != end && !signature_.patterns[same->second].same_accesses(pattern)) ++same;
  if (same == end) {
    pattern_bytes_ += pattern.memory_bytes();
    same = known_.emplace(structure, static_cast<uint32_t>(signature_.patterns.size()));
    signature_.patterns.push_back(std::move(pattern));
  } else {
    signature_.patterns[same->second].add_times(pattern);
  }
  pattern_bytes_ += sizeof(Part);
  Part& part = append_part(Part::Kind::pattern, term);
  part.pattern = same->second;
  part.accesses = accesses;
  part.position = position;
  part.end_ns = term.end_ns;
  signature_.accesses += accesses;
  signature_.covered += accesses;
}

void Folder::lose(const Term& term, uint64_t accesses) {
  const bool continues =
      !signature_.parts.empty() && signature_.parts.back().kind == Part::Kind::lost;
  Part& part = continues ? signature_.parts.back() : append_part(Part::Kind::lost, term);
  part.accesses += accesses;
  part.end_ns = term.end_ns;
  signature_.accesses += accesses;
  signature_.lost += accesses;
}

}  // namespace forebay::pattern
