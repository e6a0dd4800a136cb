// Folds the accesses of one process, file and kind into their signature while they happen.
//
// The most recent terms (accesses and closed loops) are on a stack. When the end of the stack
// consists of three equal blocks at equal steps, these become one loop. From then on each access is
// compared with the loop's prediction, which costs no more than comparing it with the access
// before. An access that breaks the prediction closes the loop. A closed loop is a term like any
// other, so it may become part of a block of a larger loop. docs/signatures.md has a picture.
// Folding three blocks is the idea of nested loop recognition (Ketterlin and Clauss, CGO 2008).
//
// Work per access: constant, amortised (at most `look_back` comparisons without a prediction).
// Memory: the stack, of constant size, and the signature.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "pattern/signature.h"
#include "pattern/walk.h"

namespace forebay::pattern {

struct Limits {
  uint32_t look_back = 32;  // longest body of a loop, in terms
  // Raw accesses and patterns beyond these limits are lost, and counted as lost.
  uint64_t raw_bytes = uint64_t{16} << 20;
  uint64_t pattern_bytes = uint64_t{16} << 20;
};

class Folder {
 public:
  explicit Folder(Limits limits = {});
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void add(const Access& access, int64_t start_ns = unknown_time, int64_t end_ns = unknown_time) {
    if (following_ && follower_.expects(access)) [[likely]] {
      follower_.pass(start_ns);
      end_ns_ = end_ns;
      return;
    }
    learn(access, start_ns, end_ns);
  }

  // Returns the signature of all added accesses. The folder is empty afterwards.
  Signature finish();

  // The loop that predicts the next accesses, or nullptr; and a walk through those accesses,
  // without end. Both are valid until generation() changes, which happens when a prediction fails.
  const Pattern* loop() const { return following_ ? terms_.back().loop.get() : nullptr; }
  Walk ahead() const { return following_ ? Walk(follower_) : Walk(); }
  uint64_t generation() const { return generation_; }

 private:
  // An access or a loop. A term's loop keeps its address when terms are moved.
  struct Term {
    Access access;  // the access; or the first access of the loop
    std::unique_ptr<Pattern> loop;
    int64_t start_ns;
    int64_t end_ns;

    Pattern pattern() &&;
  };
  // What comparing terms needs besides their offsets.
  struct Key {
    int64_t size;
    uint64_t structure;
  };

  void learn(const Access& access, int64_t start_ns, int64_t end_ns);
  void take(Pattern pattern, int64_t start_ns, int64_t end_ns);
  void push(Term&& term);
  void follow(uint64_t iterations, int64_t last_start_ns);
  void close();
  void fold();
  bool progress(std::size_t last, std::size_t distance) const;
  bool three_blocks(std::size_t length) const;
  void make_loop(std::size_t length);

  void retire(std::size_t terms);
  void retire_access(const Term& term);
  void retire_loop(Term& term);
  void lose(const Term& term, uint64_t accesses);
  Part& append_part(Part::Kind kind, const Term& term);

  const Limits limits_;
  const std::size_t window_;  // largest number of terms in three blocks
  std::vector<Term> terms_;
  std::vector<uint64_t> offsets_;  // offset of each term
  std::vector<Key> keys_;          // key of each term
  Follower follower_;              // follows the loop of the last term
  bool following_ = false;
  int64_t end_ns_ = unknown_time;  // of the last predicted access
  uint64_t generation_ = 0;

  Signature signature_;
  Access last_raw_;
  uint64_t pattern_bytes_ = 0;
  std::unordered_multimap<uint64_t, uint32_t> known_;  // patterns by structure
};

}  // namespace forebay::pattern
