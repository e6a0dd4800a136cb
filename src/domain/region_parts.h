// domain=region and domain=dynamic where bytes need owners before anything is written. The owners
// begin with the file system's stripes, if these divide a file evenly among them, and otherwise
// with chunks in turn. Where the file system's clients keep bytes, a chunk is first for the node
// that writes to it, and they have chunks in turn after some small collective accesses. The first
// large collective access gives each owner an equal part of its region: ranks that follow each
// other mostly access bytes that do, so most bytes belong to the node that accesses them, and
// owners meet at few boundaries. Where the region is too small for as many parts, they are dealt
// out in turn, the smallest that are worth it: so many owners serve each such access. With
// domain=dynamic this happens anew for each file view, whatever the stripes.
//
// Every node decides alike, from the same facts.
#pragma once

#include <optional>

#include "domain/cyclic.h"
#include "domain/first_touch.h"
#include "domain/region.h"
#include "domain/stripe.h"

namespace forebay {

class RegionParts {
 public:
  // `anew`: for each file view.
  RegionParts(const DomainFacts& facts, bool anew) : facts_(facts), anew_(anew) {
    if (has_even_stripes()) left_ = 0;
    now_ = has_even_stripes()     ? assign_stripe(facts_)
           : facts_.close_to_open ? assign_first_touch(facts_)
                                  : assign_cyclic(facts_);
  }

  // Who owns which bytes, and by which assignment.
  const FileDomains& now() const { return now_; }
  const char* name() const {
    if (changed_) return anew_ ? "dynamic" : "region";
    return has_even_stripes() ? "stripe" : now_.first_touch() ? "first-touch" : "cyclic";
  }

  // Whether a later collective access may change that.
  bool open() const { return left_ > 0; }
  // Nothing changes any more.
  void settle() {
    left_ = 0;
    anew_ = false;
  }
  // The file has another view.
  void note_view() {
    if (anew_) left_ = most_looks;
  }
  // Of a collective access of at most `bytes` bytes, all in `region`: who is to own which bytes
  // from now on. Empty: nothing changes, since the access is too small, or its bytes lie too far
  // apart, to tell, or they own these already.
  std::optional<FileDomains> change(const Extent& region, int64_t bytes) {
    if (!open()) return std::nullopt;
    --left_;
    constexpr int64_t most_apart = 64;  // bytes of the region for each of the access
    constexpr int64_t part = 8;         // of a chunk, that a share is worth
    const int64_t least = round_up(
        std::max<int64_t>({facts_.chunk_bytes / part, facts_.stripe_bytes, 1}), facts_.unit_bytes);
    const bool has_shares = region.length / facts_.nodes >= least;
    const bool has_parts = region.length >= std::max(facts_.chunk_bytes, 2 * least);
    if (!(has_shares || has_parts) || region.length / most_apart > bytes) return after_small();
    left_ = 0;
    facts_.region = region;
    const FileDomains next =
        has_shares ? assign_region(facts_)
                   : FileDomains(round_down(region.offset, least), least, facts_.nodes);
    return next == now_ ? std::nullopt : std::optional(next);
  }
  // They own these.
  void note_change(const FileDomains& domains) {
    now_ = domains;
    changed_ = !(domains == assign_cyclic(facts_));
    left_ = 0;
  }

 private:
  // Many small collective accesses and no large one: their bytes find computed owners sooner.
  std::optional<FileDomains> after_small() const {
    return left_ == 0 && now_.first_touch() ? std::optional(assign_cyclic(facts_)) : std::nullopt;
  }
  // Each owner has about as many servers as the others.
  bool has_even_stripes() const {
    constexpr int64_t plenty = 4;  // servers for each owner: one more or less does not matter
    return !anew_ && facts_.stripe_bytes > 0 && facts_.stripe_bytes % facts_.unit_bytes == 0 &&
           facts_.servers >= facts_.nodes &&
           (facts_.servers % facts_.nodes == 0 || facts_.servers / facts_.nodes >= plenty);
  }

  // So many collective accesses are looked at: each look costs a little more than a barrier.
  static constexpr int most_looks = 16;

  DomainFacts facts_;
  bool anew_;
  bool changed_ = false;
  int left_ = most_looks;
  FileDomains now_;
};

}  // namespace forebay
