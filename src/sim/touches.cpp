#include "sim/touches.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace forebay::sim {

namespace {

// Runs that are walked within a page before the rest of it is skipped by a search.
constexpr int runs_before_search = 16;

}  // namespace

bool TouchRecorder::touch(uint32_t file, int64_t offset, int64_t end, int64_t* last_page) {
  int64_t page = offset / page_bytes_;
  const int64_t last = (end - 1) / page_bytes_;
  if (page == *last_page) ++page;
  *last_page = last;
  if (page > last) return true;
  const auto pages = static_cast<uint64_t>(last - page) + 1;
  if (pages > most_ - count_) return false;
  count_ += pages;
  if (keys_ == nullptr) return true;
  for (; page <= last; ++page) keys_->push_back({uint64_t{file} + 1, page});
  return true;
}

void TouchRecorder::keep(std::vector<PageKey>* keys) { keys_ = keys; }

bool touch_access(const AccessLog& log, const DataAccess& access, int64_t* last_page,
                  TouchRecorder& recorder) {
  if (access.view == no_view)
    return recorder.touch(access.file, access.offset, access.end, last_page);
  const Tiling& tiling = log.view(access.view);
  const int64_t page_bytes = recorder.page_bytes();
  const int64_t stop = access.position + access.bytes;
  std::optional<Cursor> cursor(std::in_place, tiling, access.position);
  int on_page = 0;
  while (cursor->position() < stop) {
    const Extent run = cursor->next(stop - cursor->position());
    const int64_t before = *last_page;
    if (!recorder.touch(access.file, run.offset, run.end(), last_page)) return false;
    on_page = *last_page == before ? on_page + 1 : 0;
    if (on_page < runs_before_search) continue;
    on_page = 0;
    if (*last_page >= std::numeric_limits<int64_t>::max() / page_bytes - 1) continue;
    const int64_t next = tiling.data_below((*last_page + 1) * page_bytes);
    if (next > cursor->position()) cursor.emplace(tiling, next);
  }
  return true;
}

bool original_touches(const AccessLog& log, int64_t page_bytes, uint64_t most,
                      std::vector<PageKey>& keys) {
  return record(page_bytes, most, keys, [&](TouchRecorder& recorder) {
    std::vector<int64_t> last_pages(log.handles(), -1);
    return std::ranges::all_of(log.accesses(), [&](const DataAccess& access) {
      return touch_access(log, access, &last_pages[access.handle], recorder);
    });
  });
}

int64_t distinct_pages(std::span<const PageKey> keys) {
  // Open addressing, as large as the keys ask for; file 0 is a free place.
  std::vector<PageKey> table(1024);
  std::size_t count = 0;
  const auto place_of = [&table](PageKey key) {
    const std::size_t mask = table.size() - 1;
    const uint64_t mixed =
        (static_cast<uint64_t>(key.page) ^ (key.file << 40)) * 0x9e3779b97f4a7c15u;
    std::size_t at = (mixed ^ (mixed >> 29)) & mask;
    while (table[at].file != 0 && table[at] != key) at = (at + 1) & mask;
    return at;
  };
  for (const PageKey key : keys) {
    const std::size_t at = place_of(key);
    if (table[at].file != 0) continue;
    table[at] = key;
    if (2 * ++count < table.size()) continue;
    std::vector<PageKey> smaller(2 * table.size());
    smaller.swap(table);
    for (const PageKey old : smaller) {
      if (old.file != 0) table[place_of(old)] = old;
    }
  }
  return static_cast<int64_t>(count);
}

}  // namespace forebay::sim
