#include "sim/page_numbers.h"

#include <algorithm>
#include <iterator>

namespace forebay::sim {

PageNumbers::PageNumbers() : table_(1024, none) {}

uint32_t PageNumbers::of(PageKey key) {
  const PageKey of_chunk{key.file, key.page >> chunk_log2};
  Chunk& chunk = last_ < chunks_.size() && chunks_[last_].key == of_chunk ? chunks_[last_]
                                                                          : chunk_of(of_chunk);
  uint32_t& number = chunk.numbers[key.page & ((1 << chunk_log2) - 1)];
  if (number == none) number = count_++;
  return number;
}

uint32_t PageNumbers::find(PageKey key) const {
  const std::size_t at = place_of({key.file, key.page >> chunk_log2});
  if (table_[at] == none) return none;
  return chunks_[table_[at]].numbers[key.page & ((1 << chunk_log2) - 1)];
}

// Where in the table the chunk is, or would be.
std::size_t PageNumbers::place_of(PageKey key) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash_of(key) & mask;
  while (table_[at] != none && !(chunks_[table_[at]].key == key)) at = (at + 1) & mask;
  return at;
}

PageNumbers::Chunk& PageNumbers::chunk_of(PageKey key) {
  const std::size_t at = place_of(key);
  if (table_[at] != none) {
    last_ = table_[at];
    return chunks_[last_];
  }
  last_ = chunks_.size();
  table_[at] = static_cast<uint32_t>(last_);
  Chunk& chunk = chunks_.emplace_back();
  chunk.key = key;
  std::fill(std::begin(chunk.numbers), std::end(chunk.numbers), none);
  if (2 * chunks_.size() >= table_.size()) grow();
  return chunks_[last_];
}

void PageNumbers::grow() {
  table_.assign(2 * table_.size(), none);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    std::size_t at = hash_of(chunks_[c].key) & mask;
    while (table_[at] != none) at = (at + 1) & mask;
    table_[at] = static_cast<uint32_t>(c);
  }
}

std::vector<uint32_t> numbers_of(std::span<const PageKey> touches, uint32_t* pages) {
  PageNumbers numbers;
  std::vector<uint32_t> found(touches.size());
  for (std::size_t i = 0; i < touches.size(); ++i) found[i] = numbers.of(touches[i]);
  *pages = numbers.count();
  return found;
}

}  // namespace forebay::sim
