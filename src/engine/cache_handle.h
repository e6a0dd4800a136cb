// The path of an access: one open handle's reads and writes, to pages of the cache or past it. One
// thread at a time uses a handle.
//
//   cache_handle.h   a write, a read, and what they start in the background
//   past_cache.h     accesses past the cache
//   step_aside.h     whether the cache brings a gain
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "engine/access.h"
#include "engine/cache.h"
#include "engine/gain.h"
#include "engine/local_bypass.h"
#include "engine/long_reads.h"
#include "predict/predictor.h"
#include "predict/recorded.h"

namespace forebay {

enum class SteppingAside : uint8_t { automatic, never, always };

// The options of the same names.
struct HandleRules {
  int64_t bypass_bytes = 1 << 20;
  int64_t read_ahead_bytes = 4 << 20;
  int64_t local_bypass_bytes = 4 << 10;
  double dirty_bound = 0.5;
  bool write_behind = true;
  // Nothing happens in the background, and no decision depends on time.
  bool deterministic = false;
  SteppingAside step_aside = SteppingAside::automatic;
  const PredictorSpec* predictor = nullptr;
  // What the handle's rank read in an earlier run, which read-ahead follows; null: not known.
  std::shared_ptr<const pattern::Signature> earlier_reads;
};

template <typename Driver>
class CacheHandle {
 public:
  using OpenFile = typename Driver::OpenFile;

  // `reads`: the handle can read. `local`: storage is on this node. `file` and `cache` outlive the
  // handle.
  CacheHandle(Cache<Driver>& cache, OpenFile& file, const HandleRules& rules, bool reads,
              bool local);
  // Uses other rules from now on. No work of the handle may be under way.
  void change_rules(const HandleRules& rules);

  // Carry out an access that writes or reads. The bytes lie in order at `source` or `target`.
  // *moved: the bytes before the first failure, or before the end of file.
  template <typename Source>
  Status write(const Access& access, Source source, int64_t* moved);
  template <typename Target>
  Status read(const Access& access, Target target, int64_t* moved);
  // The same for one contiguous run.
  template <typename Source>
  Status write(Extent extent, Source source);
  template <typename Target>
  Status read(Extent extent, Target target, int64_t* moved);
  // The same past the cache, whatever the rules say.
  template <typename Source>
  Status bypass_write(Extent extent, Source source);
  template <typename Target>
  Status bypass_read(Extent extent, Target target, int64_t* moved);
  // Reads what the cache holds from there, and the rest past it. It makes no page, and waits for
  // nobody who fills one. *held: how many bytes the cache held.
  template <typename Target>
  Status read_held(Extent extent, Target target, int64_t* moved, int64_t* held);

  // The size a reader would see: storage's size and uncommitted bytes.
  Status size(int64_t* bytes);
  // Hands to storage every byte of the file that was written through any handle that shares the
  // cache.
  Status commit();
  // The same for the bytes that were written through this handle, or through another with the same
  // writer. Bytes of other handles go with them where they are on the same pages.
  Status commit_own();
  // Notes that another handle has committed what this one wrote.
  void note_stored() { file_.forget_end(); }
  // Forgets the cached bytes at and beyond `bytes`, dirty ones too. Storage is not touched.
  void truncate(int64_t bytes);
  // Nodes that have the file open together: guests go to their owners, and all bytes of the file
  // that were published on these nodes before are in storage afterwards (hand_over.h). Called by
  // one handle of each node, while no rank writes through such a handle.
  template <typename Nodes>
  Status hand_over(const FileDomains& domains, Nodes& nodes);
  // From begin to end, every write to the file is in storage before it returns. It holds as long as
  // one handle wants it.
  Status begin_write_through();
  void end_write_through();

 private:
  // What is measured for writes or for reads, to judge whether the cache brings a gain.
  struct Direction {
    Aside kind;
    Gain gain;
    LocalBypass local;
    uint32_t calls_until_sample = 0;
  };

  void begin_call(int64_t Statistics::*calls);
  // The bytes of an extent that is written lie at `source + at`: `source` is that of the call.
  template <typename Source>
  Status write_run(Extent extent, Source source, int64_t at);
  template <typename Target>
  Status read_run(Extent extent, Target target, int64_t* got);
  FileState& shared() const { return file_.state(); }
  Statistics& statistics() const { return file_.statistics(); }
  void make_predictor();
  void expect_local_speed();
  void count_call(int64_t Statistics::*calls, bool& counted);
  bool bypasses(int64_t length) const;
  bool writes_through() const;
  bool continues_page(int64_t offset);
  bool next_run_is_near(Extent run) const;
  bool sweeps(Extent extent, int64_t page_before) const;
  void raise_end(int64_t end) { file_.raise_end(end); }

  template <typename Source>
  bool write_translated(Extent part, Source source);
  template <typename Target>
  bool read_translated(Extent part, Target target);
  template <typename Target>
  int64_t read_next_runs(AccessRuns& runs, Target target);
  template <typename Source>
  Status write_untranslated(Extent extent, Source source, int64_t at);
  template <typename Source>
  Status write_part(Extent part, Source source, int64_t at);
  template <typename Source>
  Status write_page(Extent part, Source source, int64_t at, bool* count,
                    typename Cache<Driver>::Got* got);
  template <typename Source>
  Status evict_and_write(Source source);
  template <typename Source>
  Status write_waiting(Source source);
  template <typename Source>
  Status end_write(Status status, Source source, int64_t* moved);
  template <typename Target>
  Status read_untranslated(Extent extent, Target target, int64_t* got);
  template <typename Target>
  Status read_pages(Extent extent, Target target, int64_t* got);
  template <typename Target>
  Status read_long(Extent extent, Target target, int64_t* got);
  bool is_foreseen(Extent extent) const;
  Status write_behind();
  Status look_ahead(Extent access);
  void no_page();
  void make_foresight();
  void foresee(Extent run);

  // past_cache.h; *storage_ns: the time inside storage; null: not measured.
  class Past;
  template <typename Source>
  Status write_past(Extent extent, Source source, int64_t at, int64_t* storage_ns = nullptr);
  template <typename Source>
  Status write_past_now(Extent extent, Source source, int64_t* storage_ns);
  template <typename Target>
  Status read_past(Extent extent, Target target, int64_t* got, int64_t* storage_ns = nullptr);

  // step_aside.h
  template <typename Source>
  Status write_sampled(Extent extent, Source source, int64_t at);
  template <typename Target>
  Status read_sampled(Extent extent, Target target, int64_t* got);
  template <typename PastCache, typename Cached>
  Status sample(Direction& direction, Extent extent, PastCache past_cache, Cached cached);
  bool is_aside(const Direction& direction) const;
  bool stays_aside(Direction& direction, Extent extent);
  bool bypasses_locally(Direction& direction, Extent extent);
  bool adapts(const Direction& direction, int64_t length) const;
  bool samples_cheaply(const Direction& direction) const;
  bool samples_past(Direction& direction, Extent extent, uint32_t calls);
  void watch_aside(Direction& direction, int64_t ns, int64_t bytes);
  void judge(Direction& direction);
  double fetch_ns_per_read() const;
  double commit_ns_per_byte() const;

  Cache<Driver>& cache_;
  OpenFile& file_;
  HandleRules rules_;
  bool reads_data_;
  bool local_;
  Translation<Driver> translation_;
  // The dirty victims of the access under way, and its parts whose pages wait for their frames.
  struct Waiting {
    Extent part;
    int64_t at;
    bool count;
    int64_t nth;  // that waits for evictions_; -1: an earlier part waits for the same page
  };
  typename Cache<Driver>::Evictions evictions_;
  std::vector<Waiting> waiting_, ready_;
  AccessRuns* runs_ = nullptr;  // what is left of the access under way; null: nothing is known
  // Of the last access: the policy counts successive accesses to a page once.
  int64_t last_page_ = -1;
  bool bypass_counted_ = false;  // for the call under way
  bool aside_counted_ = false;
  bool no_page_counted_ = false;
  std::unique_ptr<Predictor> predictor_;  // nullptr: nothing is fetched ahead
  // The pages that were fetched ahead last, if they follow each other. None after a page was found
  // missing.
  struct Pages {
    int64_t first = 0, last = -1;
    bool contain(const Pages& other) const { return first <= other.first && other.last <= last; }
  };
  Pages fetched_ahead_;
  Direction writes_{writes_aside, {}, {}};
  Direction reads_{reads_aside, {}, {}};
  LongReads long_reads_;
  std::unique_ptr<Foresight> foresight_;  // nullptr: the policy does not use it
};

template <typename Driver>
CacheHandle<Driver>::CacheHandle(Cache<Driver>& cache, OpenFile& file, const HandleRules& rules,
                                 bool reads, bool local)
    : cache_(cache),
      file_(file),
      rules_(rules),
      reads_data_(reads),
      local_(local),
      evictions_(cache) {
  expect_local_speed();
  make_predictor();
  make_foresight();
}

template <typename Driver>
void CacheHandle<Driver>::change_rules(const HandleRules& rules) {
  const HandleRules before = std::exchange(rules_, rules);
  if (before.step_aside != rules.step_aside ||
      before.local_bypass_bytes != rules.local_bypass_bytes)
    expect_local_speed();
  if (before.predictor != rules.predictor || before.read_ahead_bytes != rules.read_ahead_bytes ||
      before.earlier_reads != rules.earlier_reads)
    make_predictor();
  if (before.bypass_bytes != rules.bypass_bytes) make_foresight();
}

template <typename Driver>
void CacheHandle<Driver>::expect_local_speed() {
  const bool expected =
      local_ && rules_.step_aside == SteppingAside::automatic && !rules_.deterministic;
  for (Direction* direction : {&writes_, &reads_}) {
    direction->local = {};
    if (expected) direction->local.expect(rules_.local_bypass_bytes);
  }
}

template <typename Driver>
void CacheHandle<Driver>::make_predictor() {
  const int64_t window = read_ahead_window(rules_.read_ahead_bytes, cache_.capacity_bytes());
  predictor_.reset();
  if (!reads_data_ || window <= 0) return;
  predictor_ = rules_.predictor->make(window, cache_.page_size());
  if (rules_.earlier_reads != nullptr)
    predictor_ = std::make_unique<RecordedPredictor>(rules_.earlier_reads, std::move(predictor_),
                                                     window, cache_.page_size());
}

template <typename Driver>
void CacheHandle<Driver>::make_foresight() {
  foresight_.reset();
  if (cache_.foresees())
    foresight_ = std::make_unique<Foresight>(
        cache_.page_size(), least_past(rules_.bypass_bytes, cache_.capacity_bytes()));
}

// Lets the policy know which pages will be accessed after this run. Other handles of the file do
// so, too, and all that is foreseen has room for some accesses to each frame.
template <typename Driver>
void CacheHandle<Driver>::foresee(Extent run) {
  struct Future {
    Cache<Driver>& cache;
    const OpenFile& file;
    ShardClock clock(int64_t page) { return cache.clock(file, page); }
    uint64_t foresee(int64_t page, double ahead) { return cache.foresee(file, page, ahead); }
    void forget(int64_t page, uint64_t when) { cache.forget(file, page, when); }
  };
  if (run.empty()) return;
  const std::size_t all = std::size_t{Policy::foreseen_a_frame} * cache_.frames();
  const std::size_t share = std::max<std::size_t>(all / std::max(shared().handles.load(), 1u), 1);
  const Status taken = within_memory([&] {
    foresight_->take(run, share, Future{cache_, file_});
    return Status::success();
  });
  if (taken.code == Code::no_memory) foresight_.reset();
}

template <typename Driver>
inline void CacheHandle<Driver>::begin_call(int64_t Statistics::*calls) {
  ++(statistics().*calls);
  bypass_counted_ = aside_counted_ = no_page_counted_ = false;
}

template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write(const Access& access, Source source, int64_t* moved) {
  begin_call(&Statistics::write_calls);
  *moved = 0;
  Status status;
  Stops stops(access.pace);
  for (AccessRuns runs(access); !runs.done();) {
    const Extent run = runs.next();
    if (stops.must_wait(run.offset)) {
      status = write_waiting(source);
      if (!status.ok()) break;
      ++statistics().pace_waits;
      stops.wait();
    }
    status = write_run(run, source, *moved);
    if (!status.ok()) break;
    *moved += run.length;
    if (foresight_ != nullptr) foresee(run);
  }
  return waiting_.empty() ? status : end_write(status, source, moved);
}

template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::read(const Access& access, Target target, int64_t* moved) {
  begin_call(&Statistics::read_calls);
  *moved = 0;
  AccessRuns runs(access);
  runs_ = &runs;
  Status status;
  Stops stops(access.pace);
  while (!runs.done()) {
    const Extent run = runs.next();
    if (stops.must_wait(run.offset)) {
      ++statistics().pace_waits;
      stops.wait();
    }
    int64_t got = 0;
    status = read_run(run, target + *moved, &got);
    if (!status.ok()) break;
    *moved += got;
    if (foresight_ != nullptr && got > 0) foresee(run);
    if (got < run.length) break;  // the end of file; later bytes of the access lie behind it
    if (!runs.done() && foresight_ == nullptr) *moved += read_next_runs(runs, target + *moved);
  }
  runs_ = nullptr;
  return status;
}

template <typename Driver>
template <typename Source>
inline Status CacheHandle<Driver>::write(Extent extent, Source source) {
  begin_call(&Statistics::write_calls);
  const Status status = write_run(extent, source, 0);
  if (foresight_ != nullptr && status.ok()) foresee(extent);
  int64_t ignored = extent.length;
  return waiting_.empty() ? status : end_write(status, source, &ignored);
}

template <typename Driver>
template <typename Target>
inline Status CacheHandle<Driver>::read(Extent extent, Target target, int64_t* moved) {
  begin_call(&Statistics::read_calls);
  const Status status = read_run(extent, target, moved);
  if (foresight_ != nullptr && *moved > 0) foresee(extent);
  return status;
}

// Counts the user's call once, however many of its runs come here.
template <typename Driver>
void CacheHandle<Driver>::count_call(int64_t Statistics::*calls, bool& counted) {
  if (!counted) ++(statistics().*calls);
  counted = true;
}

template <typename Driver>
bool CacheHandle<Driver>::bypasses(int64_t length) const {
  return length >= least_past(rules_.bypass_bytes, cache_.capacity_bytes()) || writes_through();
}

template <typename Driver>
bool CacheHandle<Driver>::writes_through() const {
  return shared().write_through.load(std::memory_order_acquire) != 0;
}

// Whether an access begins on the page on which the one before ended; remembers the page. Only this
// page may be used without asking the policy.
template <typename Driver>
bool CacheHandle<Driver>::continues_page(int64_t offset) {
  const int64_t page = offset / cache_.page_size();
  const bool same = page == last_page_;
  last_page_ = page;
  if (!same) translation_ = {};
  return same;
}

// Writes ---------------------------------------------------------------------------------------

template <typename Driver>
template <typename Source>
inline bool CacheHandle<Driver>::write_translated(Extent part, Source source) {
  const Translation<Driver>& t = translation_;
  const int64_t in_page = part.offset - t.page_start;
  if (in_page < 0 || part.length > t.length - in_page) return false;
  file_.begin_use(t.use);
  const bool current = t.frame->tag.load(std::memory_order_seq_cst) == t.tag;
  if (current) {
    if constexpr (!std::is_same_v<Source, NoBytes>)
      Driver::copy_in(t.bytes, {in_page, part.length}, source);
    cache_.kind().publish(t.state, t.length, {in_page, part.length});
    if ((t.frame->writers.load(std::memory_order_seq_cst) & file_.writer()) == 0)
      cache_.note_dirty(*t.frame, file_.writer());
  }
  file_.end_use();
  return current;
}

template <typename Driver>
template <typename Source>
inline Status CacheHandle<Driver>::write_run(Extent extent, Source source, int64_t at) {
  statistics().write_bytes += extent.length;
  if (extent.empty()) return {};
  if (writes_.calls_until_sample-- == 0)
    return within_memory([&] { return write_sampled(extent, source, at); });
  if (write_translated(extent, source + at)) {
    raise_end(extent.end());
    return {};
  }
  return within_memory([&] { return write_untranslated(extent, source, at); });
}

template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write_untranslated(Extent extent, Source source, int64_t at) {
  if (bypasses(extent.length) || stays_aside(writes_, extent) || bypasses_locally(writes_, extent))
    return write_past(extent, source, at);
  const int64_t page_size = cache_.page_size();
  for (Extent rest = extent; !rest.empty();) {
    const int64_t page_end = (rest.offset / page_size + 1) * page_size;
    const Extent part{rest.offset, std::min(rest.end(), page_end) - rest.offset};
    const Status status = write_part(part, source, at + (part.offset - extent.offset));
    if (!status.ok()) return status;
    rest = {part.end(), rest.end() - part.end()};
  }
  return {};
}

// A part lies within one page. It is written now, or waits for the frame of a dirty victim.
template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write_part(Extent part, Source source, int64_t at) {
  using Got = typename Cache<Driver>::Got;
  bool count = !continues_page(part.offset);
  const Status status = within_memory([&] {
    waiting_.reserve(waiting_.size() + 1);
    if (evictions_.awaits(file_, last_page_)) {
      waiting_.push_back({part, at, false, -1});
      return Status::success();
    }
    for (;;) {
      Got got;
      Status placed = write_page(part, source, at, &count, &got);
      if (!placed.ok() || got == Got::resident) return placed;
      if (got == Got::leaving) {
        waiting_.push_back({part, at, count, evictions_.size() - 1});
        return placed;
      }
      placed = write_waiting(source);
      if (!placed.ok()) return placed;
    }
  });
  if (status.code == Code::no_memory) {
    no_page();
    return write_past(part, source, at);
  }
  if (!status.ok()) return status;
  const Status ignored = within_memory([this] { return write_behind(); });
  (void)ignored;  // the bytes stay dirty: sync and close meet the failure and report it
  return {};
}

// *got: resident (the part is written), leaving or none.
template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write_page(Extent part, Source source, int64_t at, bool* count,
                                       typename Cache<Driver>::Got* got) {
  *got = Cache<Driver>::Got::resident;
  Status status;
  if (cache_.kind().lock_free()) {
    while (status.ok() && *got == Cache<Driver>::Got::resident) {
      if (write_translated(part, source + at)) break;
      status = cache_.page_for_write(file_, part, count, evictions_, &translation_, got);
    }
  } else {
    status = cache_.write_locked(file_, part, source + at, count, evictions_, got);
  }
  if (status.ok() && *got == Cache<Driver>::Got::resident) raise_end(part.end());
  return status;
}

// Commits the victims of the access, and writes the parts that waited for their frames. After a
// failure the parts that are not written still wait.
template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::evict_and_write(Source source) {
  using Got = typename Cache<Driver>::Got;
  while (!waiting_.empty()) {
    if (!evictions_.empty()) {
      const Status status = cache_.evict(file_, evictions_);
      if (!status.ok()) return status;
    }
    for (Waiting& waiting : waiting_) {
      if (waiting.nth >= 0 && evictions_.placed(waiting.nth)) waiting.count = false;
      waiting.nth = -1;
    }
    evictions_.clear();
    ready_.clear();
    ready_.reserve(waiting_.size());  // what still waits afterwards has room, too
    ready_.swap(waiting_);
    std::size_t done = 0;
    Status status;
    for (; status.ok() && done < ready_.size(); ++done) {
      Waiting& next = ready_[done];
      if (evictions_.awaits(file_, next.part.offset / cache_.page_size())) {
        waiting_.push_back(next);
        continue;
      }
      Got got = Got::none;
      status =
          within_memory([&] { return write_page(next.part, source, next.at, &next.count, &got); });
      if (!status.ok() || got == Got::none) break;
      if (got == Got::leaving) {
        next.nth = evictions_.size() - 1;
        waiting_.push_back(next);
      }
    }
    waiting_.insert(waiting_.end(), ready_.begin() + static_cast<std::ptrdiff_t>(done),
                    ready_.end());
    if (!status.ok()) return status;
  }
  return {};
}

// The same, where memory may be refused: parts for which there is none go past the cache.
template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write_waiting(Source source) {
  if (waiting_.empty()) return {};
  Status status = within_memory([&] { return evict_and_write(source); });
  if (status.code == Code::no_memory) {
    no_page();
    evictions_.clear();
    for (status = {}; status.ok() && !waiting_.empty();) {
      const Waiting& last = waiting_.back();
      status = within_memory([&] { return write_past_now(last.part, source + last.at, nullptr); });
      if (status.ok()) waiting_.pop_back();
    }
  }
  // Only the page of the last access may be used without asking the policy.
  if (translation_.page_start != last_page_ * cache_.page_size()) translation_ = {};
  return status;
}

// Ends a write some of whose parts wait. `status`: what the other parts met; after a failure
// nothing more is written.
template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::end_write(Status status, Source source, int64_t* moved) {
  if (status.ok()) status = write_waiting(source);
  for (const Waiting& left : waiting_) *moved = std::min(*moved, left.at);
  evictions_.clear();
  waiting_.clear();
  return status;
}

// Write-behind begins in the background at half the dirty bound; at the bound writers take part, so
// that they cannot outrun storage for long.
template <typename Driver>
Status CacheHandle<Driver>::write_behind() {
  if (!rules_.write_behind) return {};
  const DirtyBound bound(rules_.dirty_bound, cache_.frames());
  const uint32_t dirty = cache_.dirty_frames();
  if (dirty <= bound.begin()) return {};
  if (dirty > bound.most() || rules_.deterministic) return cache_.commit_some(file_, bound.begin());
  file_.commit_in_background(bound.background());
  return {};
}

template <typename Driver>
void CacheHandle<Driver>::no_page() {
  count_call(&Statistics::no_page_calls, no_page_counted_);
  file_.tell_of_memory();
}

// Reads ----------------------------------------------------------------------------------------

template <typename Driver>
template <typename Target>
inline bool CacheHandle<Driver>::read_translated(Extent part, Target target) {
  const Translation<Driver>& t = translation_;
  const int64_t in_page = part.offset - t.page_start;
  if (in_page < 0 || part.length > t.length - in_page) return false;
  file_.begin_use(t.use);
  const bool held = t.frame->tag.load(std::memory_order_seq_cst) == t.tag &&
                    cache_.kind().holds(t.state, t.length, {in_page, part.length});
  if constexpr (!std::is_same_v<Target, NoBytes>) {
    if (held) Driver::copy_out(t.bytes, {in_page, part.length}, target);
  }
  file_.end_use();
  return held;
}

// Reads runs of an access that lie on the page of the run before, with one use of it. Stops before
// a run whose read the measurement or the predictor must see. Returns the bytes read.
template <typename Driver>
template <typename Target>
int64_t CacheHandle<Driver>::read_next_runs(AccessRuns& runs, Target target) {
  constexpr int64_t most_bytes_a_use = 64 << 10;  // whoever closes the frame waits for the use
  const Translation<Driver>& t = translation_;
  const int64_t most_runs = std::min<int64_t>(
      reads_.calls_until_sample, predictor_ ? predictor_->rests() : reads_.calls_until_sample);
  if (most_runs == 0 || t.length == 0) return 0;
  int64_t bytes = 0, count = 0;
  file_.begin_use(t.use);
  if (t.frame->tag.load(std::memory_order_seq_cst) == t.tag) {
    while (count < most_runs && bytes < most_bytes_a_use && !runs.done()) {
      const Extent run = runs.next();
      const Extent in_page{run.offset - t.page_start, run.length};
      if (in_page.offset < 0 || in_page.length > t.length - in_page.offset ||
          !cache_.kind().holds(t.state, t.length, in_page)) {
        runs.put_back(run);
        break;
      }
      if constexpr (!std::is_same_v<Target, NoBytes>)
        Driver::copy_out(t.bytes, in_page, target + bytes);
      bytes += run.length;
      ++count;
    }
  }
  file_.end_use();
  reads_.calls_until_sample -= static_cast<uint32_t>(count);
  if (predictor_) predictor_->rested(count, bytes);
  statistics().read_bytes += bytes;
  return bytes;
}

template <typename Driver>
template <typename Target>
inline Status CacheHandle<Driver>::read_run(Extent extent, Target target, int64_t* got) {
  *got = 0;
  if (extent.empty()) return {};
  Status status;
  if (reads_.calls_until_sample-- == 0) {
    status = within_memory([&] { return read_sampled(extent, target, got); });
  } else if (read_translated(extent, target)) {
    *got = extent.length;
  } else {
    status = within_memory([&] { return read_untranslated(extent, target, got); });
  }
  if (!status.ok()) *got = 0;
  if (*got > 0 && is_foreseen(extent)) {
    const Status ahead = within_memory([&] { return look_ahead(extent); });
    // A read of these bytes will meet the failure itself.
    if (ahead.code == Code::no_memory) predictor_.reset();
  }
  statistics().read_bytes += *got;
  return status;
}

// Whether what follows such a read may be fetched ahead. Not for reads that go past the cache,
// which would not find it there, but for long ones on storage where it is worth it.
template <typename Driver>
bool CacheHandle<Driver>::is_foreseen(Extent extent) const {
  if (reads_.local.takes(extent.length) || is_aside(reads_)) return false;
  return !bypasses(extent.length) || long_reads_.worth_fetching_ahead();
}

template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::read_untranslated(Extent extent, Target target, int64_t* got) {
  if (bypasses(extent.length)) return read_long(extent, target, got);
  if (stays_aside(reads_, extent) || bypasses_locally(reads_, extent))
    return read_past(extent, target, got);
  return read_pages(extent, target, got);
}

// A long read goes past the cache, but for the pages that the cache holds.
template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::read_long(Extent extent, Target target, int64_t* got) {
  if (writes_through() || rules_.deterministic) {
    long_reads_.forget();
    return read_past(extent, target, got);
  }
  const int64_t began_ns = Driver::now_ns();
  int64_t past_bytes = 0, past_ns = 0;
  Status status;
  *got = 0;
  while (*got < extent.length) {
    const Extent rest{extent.offset + *got, extent.length - *got};
    bool held = false;
    const Extent run{rest.offset, cache_.held_run(file_, rest, &held)};
    int64_t moved = 0, ns = 0;
    status =
        held ? read_pages(run, target + *got, &moved) : read_past(run, target + *got, &moved, &ns);
    if (!status.ok()) break;
    if (!held) {
      past_bytes += moved;
      past_ns += ns;
    }
    *got += moved;
    if (moved < run.length) break;  // the end of file
  }
  long_reads_.note({began_ns, Driver::now_ns(), *got, past_ns, past_bytes});
  return status;
}

template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::read_pages(Extent extent, Target target, int64_t* got) {
  const int64_t page_size = cache_.page_size();
  const bool one_page = extent.offset / page_size == (extent.end() - 1) / page_size;
  const int64_t page_before = last_page_;
  const bool same_page = continues_page(extent.offset);
  if (one_page && cache_.read_resident(file_, extent, target, !same_page, &translation_)) {
    *got = extent.length;
    return {};
  }
  fetched_ahead_ = {};
  // Without a prediction of the next reads, only the wanted bytes are fetched.
  const bool whole_pages = next_run_is_near(extent) ||
                           (predictor_ && (predictor_->predicts() || sweeps(extent, page_before)));
  Status status = within_memory(
      [&] { return cache_.read(file_, extent, target, whole_pages, !same_page, got); });
  if (status.code == Code::no_memory) {
    no_page();
    status = read_past(extent, target, got);
  }
  continues_page(extent.end() - 1);
  return status;
}

// Whether the access under way goes on so near behind this run that one request for both is best.
template <typename Driver>
bool CacheHandle<Driver>::next_run_is_near(Extent run) const {
  constexpr int64_t near_bytes = 4 << 10;
  if (runs_ == nullptr || runs_->done()) return false;
  const Extent next = runs_->next();
  runs_->put_back(next);
  return next.offset >= run.end() && next.offset - run.end() < near_bytes;
}

// Whether accesses whose places no rule foretells stay near each other.
template <typename Driver>
bool CacheHandle<Driver>::sweeps(Extent extent, int64_t page_before) const {
  const int64_t page = extent.offset / cache_.page_size();
  return predictor_->rests() > 0 && (page == page_before || page == page_before + 1);
}

template <typename Driver>
Status CacheHandle<Driver>::look_ahead(Extent access) {
  if (!predictor_) return {};
  if (predictor_->rests() > 0) {
    predictor_->rested(1, access.length);
    return {};
  }
  const std::span<const Extent> fetch = predictor_->access(access);
  if (fetch.empty()) return {};
  // Predictions of small accesses that keep changing mean the same pages again and again.
  Pages wanted;
  if (fetch.size() == 1) {
    wanted = {fetch.front().offset / cache_.page_size(),
              (fetch.front().end() - 1) / cache_.page_size()};
    if (fetched_ahead_.contain(wanted)) return {};
  }
  fetched_ahead_ = wanted;
  if (!rules_.deterministic) {
    file_.fetch_in_background(fetch);
    return {};
  }
  PageCursor pages(fetch, cache_.page_size());
  while (cache_.prefetch(file_, pages)) {
  }
  return {};
}

// Beside accesses ------------------------------------------------------------------------------

template <typename Driver>
Status CacheHandle<Driver>::size(int64_t* bytes) {
  const Status status = file_.storage_size(bytes);
  if (status.ok()) *bytes = std::max(*bytes, file_.written_end());
  return status;
}

template <typename Driver>
Status CacheHandle<Driver>::commit() {
  int64_t unstored = shared().unstored_end.load();
  const Status status = within_memory([this] { return cache_.commit(file_, {0, INT64_MAX}); });
  if (!status.ok()) return status;
  // The bytes written through this handle are in storage now, and count in its size. So do bytes
  // that closed handles had left before.
  note_stored();
  shared().unstored_end.compare_exchange_strong(unstored, 0);
  return status;
}

template <typename Driver>
Status CacheHandle<Driver>::commit_own() {
  const Status status = within_memory([this] {
    return cache_.commit(file_, {0, INT64_MAX}, file_.writer());
  });
  if (status.ok()) note_stored();
  return status;
}

template <typename Driver>
void CacheHandle<Driver>::truncate(int64_t bytes) {
  cache_.truncate(file_, bytes);
  file_.truncate_ends(bytes);
  if (shared().unstored_end.load() > bytes) shared().unstored_end.store(bytes);
}

template <typename Driver>
Status CacheHandle<Driver>::begin_write_through() {
  shared().write_through.fetch_add(1, std::memory_order_acq_rel);
  const Status status = commit();
  cache_.drop(file_, {0, INT64_MAX}, false);  // ends all translations too
  return status;
}

template <typename Driver>
void CacheHandle<Driver>::end_write_through() {
  shared().write_through.fetch_sub(1, std::memory_order_acq_rel);
}

}  // namespace forebay

#include "engine/past_cache.h"
//
#include "engine/hand_over.h"
#include "engine/step_aside.h"
