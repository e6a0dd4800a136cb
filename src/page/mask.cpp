#include "page/mask.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

namespace forebay {
namespace {

using Word = uint64_t;
constexpr int64_t word_bits = 64;
constexpr Word full = ~Word{0};

// A region as bits of words: a first word, full words, and a last word, which holds the region's
// last byte.
struct Span {
  int64_t first;
  int64_t last;
  Word first_bits;
  Word last_bits;

  explicit Span(Extent region)
      : first(region.offset / word_bits),
        last((region.end() - 1) / word_bits),
        first_bits(full << (region.offset % word_bits)),
        last_bits(full >> (word_bits - 1 - (region.end() - 1) % word_bits)) {}

  Word bits(int64_t word) const {
    return (word == first ? first_bits : full) & (word == last ? last_bits : full);
  }
};

Word* dirty_words(void* state) { return static_cast<Word*>(state); }
Word* valid_words(void* state, int64_t page_size) {
  return static_cast<Word*>(state) + page_size / word_bits;
}

// Read and written only under the shard's lock, so not atomic. Stores to it and to `dirty` keep
// their order, because those to `dirty` are release, or acquire-release, operations.
Word* in_flight_words(void* state, int64_t page_size) {
  return static_cast<Word*>(state) + 2 * (page_size / word_bits);
}
const Word* in_flight_words(const void* state, int64_t page_size) {
  return in_flight_words(const_cast<void*>(state), page_size);
}

Word load(const Word& word, std::memory_order order) {
  return std::atomic_ref<Word>(const_cast<Word&>(word)).load(order);
}
void store(Word& word, Word value, std::memory_order order) {
  std::atomic_ref<Word>(word).store(value, order);
}

// Sets a run of dirty bits within one word. Bytes of the mask that the run covers completely are
// simply stored: nobody needs one of their bits kept clear, and with plain stores the writer need
// not wait for the cache line while a neighbour has it. (The language does not define a store to
// part of a word that others change as a whole, but x86 and Arm processors do what is expected.)
// Otherwise the byte is shared, and one atomic operation sets the bits even if they are set
// already: a test first could overtake the copy of the data, and a take_dirty() in between would
// clear the bits without the data.
void mark(Word& word, Word bits) {
  const int begin = std::countr_zero(bits);
  const int end = word_bits - std::countl_zero(bits);
  if ((begin | end) % 8 != 0) {
    std::atomic_ref<Word>(word).fetch_or(bits, std::memory_order_release);
    return;
  }
  auto* const bytes = reinterpret_cast<unsigned char*>(&word);
  for (int i = begin / 8; i < end / 8; ++i) {
    const int at = std::endian::native == std::endian::little ? i : 7 - i;
    std::atomic_ref<unsigned char>(bytes[at]).store(0xff, std::memory_order_release);
  }
}

// Reads the bit arrays in an order in which a move from dirty to valid is never missed.
struct View {
  const Word* dirty;
  const Word* valid;

  View(const void* state, int64_t page_size)
      : dirty(static_cast<const Word*>(state)), valid(dirty + page_size / word_bits) {}
  Word held(int64_t word) const {
    const Word newer = load(dirty[word], std::memory_order_acquire);
    return newer == full ? full : newer | load(valid[word], std::memory_order_acquire);
  }
};

// Words per cache line, examined together.
constexpr int64_t group = 8;

// Calls visit(index, word, count) for all words of a page's dirty mask that are not zero. `count`
// exceeds one only for consecutive full words.
template <typename Visit>
void each_non_zero(const Word* dirty, int64_t page_size, Visit visit) {
  const int64_t words = page_size / word_bits;
  for (int64_t begin = 0; begin < words; begin += group) {
    const int64_t end = std::min(begin + group, words);
    Word some = 0;
    Word all = full;
    for (int64_t word = begin; word < end; ++word) {
      const Word bits = load(dirty[word], std::memory_order_acquire);
      some |= bits;
      all &= bits;
    }
    if (some == 0) continue;
    if (all == full) {
      visit(begin, full, end - begin);
      continue;
    }
    for (int64_t word = begin; word < end; ++word) {
      const Word bits = load(dirty[word], std::memory_order_acquire);
      if (bits != 0) visit(word, bits, int64_t{1});
    }
  }
}

// Collects set bits as maximal regions, word by word in ascending order.
class Collector {
 public:
  explicit Collector(Regions& out) : out_(out) {}

  // Adds `count` words of value `bits` from `word` on. `count` exceeds one only for full words.
  void add(int64_t word, Word bits, int64_t count = 1) {
    const int64_t base = word * word_bits;
    if (bits == full) return extend(base, count * word_bits);
    for (int64_t position = 0; bits != 0;) {
      const int skipped = std::countr_zero(bits);
      bits >>= skipped;
      const int length = std::countr_one(bits);
      extend(base + position + skipped, length);
      bits >>= length;  // less than 64, because the word is not full
      position += skipped + length;
    }
  }

  // Called after the last word.
  void close() {
    if (!run_.empty()) out_.push_back(run_);
  }

 private:
  void extend(int64_t offset, int64_t length) {
    if (run_.end() != offset) {
      close();
      run_ = {offset, 0};
    }
    run_.length += length;
  }
  Regions& out_;
  Extent run_;
};

}  // namespace

std::size_t MaskPage::state_bytes(int64_t page_size) const {
  return static_cast<std::size_t>(3 * page_size / word_bits) * sizeof(Word);
}

void MaskPage::reset(void* state, int64_t page_size) const {
  std::memset(state, 0, state_bytes(page_size));
}

bool MaskPage::publish(void* state, int64_t, Extent region) const {
  if (region.empty()) return true;
  Word* const dirty = dirty_words(state);
  const Span span(region);
  if (span.first == span.last) {
    mark(dirty[span.first], span.first_bits & span.last_bits);
    return true;
  }
  mark(dirty[span.first], span.first_bits);
  for (int64_t word = span.first + 1; word < span.last; ++word) {
    store(dirty[word], full, std::memory_order_release);
  }
  mark(dirty[span.last], span.last_bits);
  return true;
}

bool MaskPage::fill(void* state, int64_t page_size, Extent region) const {
  if (region.empty()) return true;
  Word* const valid = valid_words(state, page_size);
  const Span span(region);
  for (int64_t word = span.first; word <= span.last; ++word) {
    const Word before = load(valid[word], std::memory_order_relaxed);
    store(valid[word], before | span.bits(word), std::memory_order_release);
  }
  return true;
}

bool MaskPage::holds(const void* state, int64_t page_size, Extent region) const {
  if (region.empty()) return true;
  const View view(state, page_size);
  const Span span(region);
  for (int64_t word = span.first; word <= span.last; ++word) {
    if ((~view.held(word) & span.bits(word)) != 0) return false;
  }
  return true;
}

void MaskPage::missing(const void* state, int64_t page_size, Extent region, Regions& out) const {
  if (region.empty()) return;
  const View view(state, page_size);
  const Span span(region);
  Collector collector(out);
  for (int64_t word = span.first; word <= span.last; ++word) {
    collector.add(word, ~view.held(word) & span.bits(word));
  }
  collector.close();
}

void MaskPage::take_dirty(void* state, int64_t page_size, Regions& out) const {
  Word* const dirty = dirty_words(state);
  Word* const valid = valid_words(state, page_size);
  Word* const in_flight = in_flight_words(state, page_size);
  Collector collector(out);
  each_non_zero(dirty, page_size, [&](int64_t word, Word bits, int64_t count) {
    collector.add(word, bits, count);
    // Clears only the bits that were seen. If all bits of a word were set, none can be added
    // meanwhile.
    if (bits == full) {
      for (int64_t i = word; i < word + count; ++i) {
        in_flight[i] = full;
        store(valid[i], full, std::memory_order_release);
        store(dirty[i], 0, std::memory_order_release);
      }
      return;
    }
    in_flight[word] |= bits;
    const Word before = load(valid[word], std::memory_order_relaxed);
    store(valid[word], before | bits, std::memory_order_release);
    std::atomic_ref<Word>(dirty[word]).fetch_and(~bits, std::memory_order_acq_rel);
  });
  collector.close();
  // The bits are clear before the caller reads the data. If a publish() of the same bits came
  // before that, its data is in place and the caller reads it; otherwise the bits are set again.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void MaskPage::settle(void* state, int64_t page_size, bool stored) const {
  Word* const in_flight = in_flight_words(state, page_size);
  const int64_t words = page_size / word_bits;
  if (stored) {
    std::memset(in_flight, 0, static_cast<std::size_t>(words) * sizeof(Word));
    return;
  }
  Word* const dirty = dirty_words(state);
  for (int64_t word = 0; word < words; ++word) {
    if (in_flight[word] == 0) continue;
    std::atomic_ref<Word>(dirty[word]).fetch_or(in_flight[word], std::memory_order_acq_rel);
    in_flight[word] = 0;
  }
}

void MaskPage::unsaved(const void* state, int64_t page_size, Regions& out) const {
  const auto* const dirty = static_cast<const Word*>(state);
  const Word* const in_flight = in_flight_words(state, page_size);
  Collector collector(out);
  for (int64_t word = 0; word < page_size / word_bits; ++word) {
    collector.add(word, load(dirty[word], std::memory_order_acquire) | in_flight[word]);
  }
  collector.close();
}

// A death can leave dirty, valid and in-flight bits half changed. Only valid bits may then be
// wrong, those of a page that was being reset; they are dropped.
void MaskPage::repair(void* state, int64_t page_size) const {
  settle(state, page_size, false);
  drop_clean(state, page_size);
}

void MaskPage::dirty(const void* state, int64_t page_size, Regions& out) const {
  Collector collector(out);
  each_non_zero(static_cast<const Word*>(state), page_size,
                [&](int64_t word, Word bits, int64_t count) { collector.add(word, bits, count); });
  collector.close();
}

bool MaskPage::any_dirty(const void* state, int64_t page_size) const {
  const auto* const dirty = static_cast<const Word*>(state);
  Word some = 0;
  for (int64_t word = 0; word < page_size / word_bits && some == 0;) {
    const int64_t end = std::min(word + group, page_size / word_bits);
    for (; word < end; ++word) some |= load(dirty[word], std::memory_order_acquire);
  }
  return some != 0;
}

void MaskPage::drop_clean(void* state, int64_t page_size) const {
  Word* const valid = valid_words(state, page_size);
  const Word* const in_flight = in_flight_words(state, page_size);
  for (int64_t word = 0; word < page_size / word_bits; ++word) {
    store(valid[word], in_flight[word], std::memory_order_release);
  }
}

void MaskPage::truncate(void* state, int64_t page_size, int64_t length) const {
  if (length >= page_size) return;
  const Span span({length, page_size - length});
  Word* const dirty = dirty_words(state);
  Word* const valid = valid_words(state, page_size);
  Word* const in_flight = in_flight_words(state, page_size);
  for (int64_t word = span.first; word <= span.last; ++word) {
    in_flight[word] &= ~span.bits(word);
    std::atomic_ref<Word>(dirty[word]).fetch_and(~span.bits(word), std::memory_order_acq_rel);
    const Word before = load(valid[word], std::memory_order_relaxed);
    store(valid[word], before & ~span.bits(word), std::memory_order_release);
  }
}

}  // namespace forebay
