#include "sim/touches.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace forebay::sim {

namespace {

// After so many runs within one page, a search skips the other runs of the page.
constexpr int runs_before_search = 16;

}  // namespace

TouchRecorder::TouchRecorder(int64_t page_bytes, uint64_t most, const Caches& caches, bool pieces)
    : caches_(caches),
      page_bytes_(page_bytes),
      most_(most),
      pieces_(pieces),
      counts_(caches.least_past.size()),
      piece_counts_(caches.least_past.size()),
      least_past_(caches.least_past.front()) {}

void TouchRecorder::begin(uint32_t process) {
  cache_ = caches_.of_process.empty() ? 0 : caches_.of_process[process];
  least_past_ = caches_.least_past[cache_];
  counted_past_ = false;
  process_ = process;
  if (shown_ != nullptr) ++shown_->accesses[cache_];
}

bool TouchRecorder::touch(uint32_t file, int64_t offset, int64_t end, int64_t* last_page) {
  int64_t page = offset / page_bytes_;
  const int64_t last = (end - 1) / page_bytes_;
  went_past_ = least_past_ != Caches::never && end - offset >= least_past_ &&
               (page != last || page != *last_page);
  if (went_past_) {
    pass(end - offset);
    return note_piece({process_, file, offset, end, 0});
  }
  if (page == *last_page) ++page;
  *last_page = last;
  const auto pages = static_cast<uint64_t>(last - page + 1);
  if (pages > most_ - count_ ||
      !note_piece({process_, file, offset, end, static_cast<uint32_t>(pages)}))
    return false;
  count_ += pages;
  std::size_t& at = counts_[cache_];
  if (shown_ != nullptr) {
    for (std::size_t to = at; page <= last; ++page) shown_->keys[to++] = {uint64_t{file} + 1, page};
  }
  at += pages;
  return true;
}

// False: there would be too many pieces.
bool TouchRecorder::note_piece(const Piece& piece) {
  if (!pieces_) return true;
  if (piece_count_ == most_) return false;
  ++piece_count_;
  std::size_t& at = piece_counts_[cache_];
  if (shown_ != nullptr) shown_->pieces[at] = piece;
  ++at;
  return true;
}

void TouchRecorder::pass(int64_t bytes) {
  if (shown_ == nullptr) return;
  shown_->past_bytes += static_cast<uint64_t>(bytes);
  shown_->past_accesses += counted_past_ ? 0 : 1;
  counted_past_ = true;
}

void TouchRecorder::keep(const TouchRecorder& counted, Shown* shown) {
  *shown = {};
  shown->accesses.resize(counts_.size());
  std::size_t sum = 0;
  std::size_t pieces = 0;
  for (std::size_t cache = 0; cache < counts_.size(); ++cache) {
    counts_[cache] = sum;
    sum += counted.counts_[cache];
    shown->ends.push_back(sum);
    piece_counts_[cache] = pieces;
    pieces += counted.piece_counts_[cache];
    shown->piece_ends.push_back(pieces);
  }
  shown->keys.resize(sum);
  shown->has_pieces = pieces_;
  shown->pieces.resize(pieces);
  shown->page_bytes = page_bytes_;
  shown->least_past = caches_.least_past;
  shown_ = shown;
}

bool touch_access(const AccessLog& log, const DataAccess& access, int64_t* last_page,
                  TouchRecorder& recorder) {
  recorder.begin(access.process);
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
    on_page = *last_page == before && !recorder.went_past() ? on_page + 1 : 0;
    if (on_page < runs_before_search || recorder.may_pass_within_page()) continue;
    on_page = 0;
    if (*last_page >= std::numeric_limits<int64_t>::max() / page_bytes - 1) continue;
    const int64_t next = tiling.data_below((*last_page + 1) * page_bytes);
    if (next > cursor->position()) cursor.emplace(tiling, next);
  }
  return true;
}

bool original_touches(const AccessLog& log, int64_t page_bytes, const Caches& caches, uint64_t most,
                      Shown& shown, Progress& progress, bool pieces) {
  return record(page_bytes, caches, most, pieces, shown, [&](TouchRecorder& recorder) {
    std::vector<int64_t> last_pages(log.handles(), -1);
    return std::ranges::all_of(log.accesses(), [&](const DataAccess& access) {
      progress.add(1);
      return touch_access(log, access, &last_pages[access.handle], recorder);
    });
  });
}

}  // namespace forebay::sim
