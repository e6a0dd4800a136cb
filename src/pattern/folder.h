// Folds a stream of accesses of one process, file and kind into its signature, while they happen.
//
// The last terms (accesses and closed loops) are kept on a stack. As soon as its end consists of
// three blocks that follow each other evenly, they become one loop; from then on the accesses are
// compared with what the loop predicts, which costs nothing more. The access that breaks the
// prediction closes the loop; closed, it is a term like any other and may be one of three blocks in
// its turn. docs/signatures.md has a picture. The idea of folding three blocks is that of nested
// loop recognition (Ketterlin and Clauss, CGO 2008).
//
// Work per access: constant, amortised (at most `look_back` comparisons where nothing is
// predicted). Memory: the stack, of constant size, and the signature.
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
  // Beyond these, raw accesses and patterns are lost, and counted as such.
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

  // The signature of all that was added. The folder is as new afterwards.
  Signature finish();

  // The loop by which the accesses to come are predicted, nullptr if they are not, and a walk
  // through them, without end. Both may be used until generation() changes, which happens when a
  // prediction fails.
  const Pattern* loop() const { return following_ ? terms_.back().loop.get() : nullptr; }
  Walk ahead() const { return following_ ? Walk(follower_) : Walk(); }
  uint64_t generation() const { return generation_; }

 private:
  // An access or a loop. The loops of terms stay where they are while terms are moved.
  struct Term {
    Access access;  // the first of a loop
    std::unique_ptr<Pattern> loop;
    int64_t start_ns;
    int64_t end_ns;

    Pattern pattern() &&;
  };
  // Of a term, what comparisons need beside its offset.
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
  const std::size_t window_;  // terms that three blocks may consist of
  std::vector<Term> terms_;
  std::vector<uint64_t> offsets_;  // of the terms, and
  std::vector<Key> keys_;          // their keys
  Follower follower_;              // of the last term's loop
  bool following_ = false;
  int64_t end_ns_ = unknown_time;  // of the last access that was predicted
  uint64_t generation_ = 0;

  Signature signature_;
  Access last_raw_;
  uint64_t pattern_bytes_ = 0;
  std::unordered_multimap<uint64_t, uint32_t> known_;  // patterns by structure
};

}  // namespace forebay::pattern
