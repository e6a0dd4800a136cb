#include "simulated/accesses.h"

namespace forebay::test {

void Accesses::write(const Operation& op, Opened& opened) {
  ByteModel& model = files_[op.file].model;
  std::vector<std::byte> bytes;
  for (int piece = 0; piece < op.pieces; ++piece) {
    if (!model.may_write(piece_of(op, piece), op.rank)) return;
  }
  for (int piece = 0; piece < op.pieces; ++piece) {
    const std::vector<std::byte> values = model.begin_write(piece_of(op, piece), op.rank);
    bytes.insert(bytes.end(), values.begin(), values.end());
  }
  const Tiling view = view_of(op);
  const std::byte* const source = bytes.data();
  const Statistics before = statistics_[op.rank];
  int64_t moved = -1;
  Status status;
  if (is_one_run(op)) {
    status = opened.handle.write(op.extent, source);
    moved = status.ok() ? op.extent.length : 0;
  } else {
    status = in_access(op, opened, view, [&](const Access& access) {
      return opened.handle.write(access, source, &moved);
    });
  }
  if (ends_well(status, "a write") != (moved == std::ssize(bytes)))
    fail("a write says that it moved less or more");
  for (int piece = 0; (piece + 1) * op.extent.length <= moved; ++piece)
    model.end_write(piece_of(op, piece));
  if (opened.through && status.ok()) check_written_through(op);
  if (status.ok()) check_dirty(op);
  check_counts(op, opened, before, status.ok(), moved);
}

void Accesses::read(const Operation& op, Opened& opened) {
  const ByteModel& model = files_[op.file].model;
  std::vector<ByteModel::Moment> moments;
  for (int piece = 0; piece < op.pieces; ++piece)
    moments.push_back(model.now(piece_of(op, piece), node_of(op.rank)));
  const auto length = static_cast<std::size_t>(op.extent.length);
  std::vector<std::byte> bytes(length * moments.size(), std::byte{0xee});
  const Tiling view = view_of(op);
  const Statistics before = statistics_[op.rank];
  int64_t moved = -1;
  const Status status = is_one_run(op) ? opened.handle.read(op.extent, bytes.data(), &moved)
                                       : in_access(op, opened, view, [&](const Access& access) {
                                           return opened.handle.read(access, bytes.data(), &moved);
                                         });
  check_counts(op, opened, before, ends_well(status, "a read"), moved);
  if (!status.ok()) return;
  bytes.resize(static_cast<std::size_t>(moved));
  for (std::size_t piece = 0; piece < moments.size() && ok(); ++piece) {
    const std::size_t begin = std::min(piece * length, bytes.size());
    const std::size_t count = std::min(length, bytes.size() - begin);
    outcome_.failure = model.check_read(moments[piece], std::span(bytes).subspan(begin, count));
  }
}

// Carries out an access, at its pace or in rounds.
template <typename Act>
Status Accesses::in_access(const Operation& op, Opened& opened, const Tiling& view, Act act) {
  if (!goes_in_rounds(op)) {
    const auto pace = pace_of(op);
    return act(access_of(op, view, pace.get()));
  }
  const Statistics& now = statistics_[op.rank];
  const int64_t before = now.hits + now.misses;
  const int64_t read_before = now.read_bytes;
  Rounds rounds(*this, op, opened);
  const Status status = act(access_of(op, view, &rounds));
  if (now.hits + now.misses - before != rounds.counted())
    fail("the policy is told of accesses in rounds");
  // What lies beyond the end of file is not touched.
  const bool whole =
      op.kind == Operation::Kind::write ||
      (settings_.ranks == 1 && now.read_bytes - read_before == op.extent.length * op.pieces);
  check_touched(rounds, opened, whole);
  return status;
}

void Accesses::check_touched(const Rounds& rounds, Opened& opened, bool whole) {
  if (writes_through_) return;
  const int64_t page_size = settings_.cache.page_size;
  int64_t pages = 0;
  for (const Extent& round : rounds.touched()) {
    for (int64_t page = round.offset / page_size; page * page_size < round.end(); ++page)
      pages += std::exchange(opened.last_touched_page, page) == page ? 0 : 1;
  }
  if (!rounds.well() || !whole) opened.last_touched_known = false;
  if (rounds.counted() > pages && opened.last_touched_known)
    fail("the policy counts a touched page twice");
  if (!opened.last_touched_known || memory_is_short()) return;
  if (rounds.counted() != pages)
    fail("the policy counts " + std::to_string(rounds.counted()) + " touches of " +
         std::to_string(pages) + " pages");
}

void Accesses::check_written_through(const Operation& op) {
  const File& file = files_[op.file];
  for (int piece = 0; piece < op.pieces && ok(); ++piece) {
    const ByteModel::Moment moment = file.model.now(piece_of(op, piece), node_of(op.rank));
    outcome_.failure = file.model.check_storage(moment, file.storage.bytes());
  }
}

void Accesses::check_dirty(const Operation& op) {
  if (settings_.ranks > 1 || settings_.files > 1 || !sound() || !settings_.handles.write_behind)
    return;
  const DirtyBound bound(settings_.handles.dirty_bound, nodes_.front().cache().frames());
  const int64_t pages = op.pieces * (op.extent.length / settings_.cache.page_size + 2);
  if (nodes_.front().cache().dirty_frames() > bound.most() + pages)
    fail("too many frames are dirty");
}

void Accesses::check_counts(const Operation& op, Opened& opened, const Statistics& before,
                            bool well, int64_t moved) {
  const bool writes = op.kind == Operation::Kind::write;
  const int64_t total = op.extent.length * op.pieces;
  // Pieces that touch are one.
  const int64_t piece = op.stride == op.extent.length ? total : op.extent.length;
  const auto counted = [&](int64_t Statistics::*count) {
    return statistics_[op.rank].*count - before.*count;
  };
  const auto expect = [&](bool right, const char* what) {
    if (!right) fail(std::string(writes ? "a write" : "a read") + " counts wrong " + what);
  };
  expect(counted(&Statistics::write_calls) == (writes ? 1 : 0), "calls that write");
  expect(counted(&Statistics::read_calls) == (writes ? 0 : 1), "calls that read");
  expect(writes || counted(&Statistics::read_bytes) == moved, "bytes that are read");
  expect(!(writes && well) || counted(&Statistics::write_bytes) == total, "written bytes");
  const int64_t past_calls = counted(&Statistics::bypass_calls);
  const int64_t past_bytes = counted(&Statistics::bypass_bytes);
  const int64_t aside = counted(&Statistics::aside_calls);
  const int64_t local = counted(&Statistics::local_calls);
  const int64_t no_page = counted(&Statistics::no_page_calls);
  expect(past_calls == (past_bytes > 0 ? 1 : 0), "calls past the cache");
  expect(past_bytes <= total, "bytes past the cache");
  expect(counted(&Statistics::bypass_written_bytes) == (writes ? past_bytes : 0),
         "bytes written past the cache");
  // A read that shall step aside finds its bytes in the cache at times.
  expect(aside <= (writes && well ? past_calls : 1), "calls that step aside");
  expect(local <= aside && (settings_.local || local == 0), "calls to local storage");
  expect(no_page <= (memory_is_short() ? 1 : 0), "calls without a page");
  if (goes_in_rounds(op)) {
    expect(past_bytes == 0 || writes_through_ || no_page > 0, "bytes past the cache in rounds");
    expect(aside == 0, "steps aside in rounds");
    return;
  }
  expect(settings_.handles.step_aside != SteppingAside::never || aside == 0, "steps aside");
  if (well && moved == total && settings_.handles.step_aside == SteppingAside::always &&
      settings_.handles.read_ahead_bytes == 0)
    expect(past_bytes == total, "bytes past a cache that is never used");
  if (well && moved == total && piece > settings_.cache.page_size &&
      piece >= least_past(settings_.handles.bypass_bytes, capacity()) &&
      (writes || settings_.handles.deterministic))
    expect(past_bytes == total, "bytes of large accesses");
  const int64_t fetched_ahead = counted(&Statistics::ahead_pages);
  expect(counted(&Statistics::ahead_used_pages) >= 0 && fetched_ahead >= 0 &&
             (settings_.handles.read_ahead_bytes > 0 || fetched_ahead == 0),
         "pages that are fetched ahead");
  if (never_past(piece) && well) expect(no_page == past_calls, "calls for which there was no page");
  if (!never_past(piece) || memory_is_short()) {
    opened.last_page_known = false;
    return;
  }
  expect(past_bytes == 0, "bytes of small accesses");
  if (writes && well) check_fill(op, counted(&Statistics::fetched_bytes));
  check_pages(op, opened, well && moved == total,
              counted(&Statistics::hits) + counted(&Statistics::misses),
              counted(&Statistics::fetched_bytes));
}

void Accesses::check_fill(const Operation& op, int64_t fetched) {
  const int64_t page_size = settings_.cache.page_size;
  const bool partial =
      op.pieces > 1 || op.extent.offset % page_size != 0 || op.extent.length % page_size != 0;
  if (fetched > 0 && !(partial && settings_.cache.page_kind->fill_before_write()))
    fail("a write fetches pages");
}

void Accesses::check_pages(const Operation& op, Opened& opened, bool complete, int64_t counted,
                           int64_t fetched) {
  if (!complete) opened.last_page_known = false;
  if (!opened.last_page_known) return;
  const int64_t page_size = settings_.cache.page_size;
  int64_t pages = 0;
  for (int piece = 0; piece < op.pieces; ++piece) {
    const Extent extent = piece_of(op, piece);
    for (int64_t page = extent.offset / page_size; page * page_size < extent.end(); ++page)
      pages += std::exchange(opened.last_page, page) == page ? 0 : 1;
  }
  if (counted != pages)
    fail("the policy counts " + std::to_string(counted) + " pages, not " + std::to_string(pages));
  if (is_alone() && fetched > (pages + 1) * page_size) fail("a call fetches more than its pages");
}

bool Accesses::commit(Opened& opened) {
  File& file = file_of(opened);
  const ByteModel::Moment moment = file.model.now({0, settings_.file_bytes}, node_of(opened.rank));
  if (!ends_well(opened.handle.commit(), "a commit")) return false;
  if (opened.file.seat().end != 0) fail("a commit does not know that storage has the end");
  if (ok()) outcome_.failure = file.model.check_storage(moment, file.storage.bytes());
  return true;
}

bool Accesses::commit_own(Opened& opened) {
  File& file = file_of(opened);
  ByteModel::Moment moment = file.model.now({0, settings_.file_bytes}, node_of(opened.rank));
  file.model.only_of(opened.rank, moment);
  if (!ends_well(opened.handle.commit_own(), "a commit")) return false;
  if (opened.file.seat().end != 0) fail("a commit does not know that storage has the end");
  // The file may end earlier in storage: where it ends may be a byte of another rank's.
  std::vector<std::byte> stored(file.storage.bytes().begin(), file.storage.bytes().end());
  stored.resize(static_cast<std::size_t>(settings_.file_bytes));
  if (ok()) outcome_.failure = file.model.check_storage(moment, stored);
  return true;
}

}  // namespace forebay::test
