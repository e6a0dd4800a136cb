// The path of an access: one open handle's reads and writes, to pages of the cache or past it. One
// thread at a time uses a handle.
//
//   cache_handle.h    the runs of an access, one after the other; commits, truncation, size
//   handle_writes.h   a run that is written, and write-behind
//   handle_reads.h    a run that is read, and what is fetched ahead of it
//   handle_touch.h    pages that are touched for an access of several handles
//   past_cache.h      accesses past the cache
//   step_aside.h      whether the cache brings a gain
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "domain/file_domains.h"
#include "engine/access.h"
#include "engine/cache.h"
#include "engine/gain.h"
#include "engine/local_bypass.h"
#include "engine/long_reads.h"
#include "engine/next_reads.h"
#include "engine/pace.h"
#include "engine/stragglers.h"
#include "predict/fetch_list.h"
#include "predict/predictor.h"
#include "predict/recorded.h"

namespace forebay {

enum class SteppingAside : uint8_t { automatic, never, always };

// The bytes of a file that a node owns.
struct OwnPart {
  FileDomains domains;
  uint32_t owner = 0;
  // With domain=first-touch: the chunks that are known to be the node's, by number.
  std::unordered_set<int64_t> chunks = {};
  bool has(int64_t offset) const {
    return domains.first_touch() ? chunks.contains(domains.chunk_of(offset))
                                 : domains.owner_of(offset) == owner;
  }
};

// The options of the same names.
struct HandleRules {
  int64_t bypass_bytes = 1 << 20;
  int64_t read_ahead_bytes = 4 << 20;
  int64_t local_bypass_bytes = 4 << 10;
  double dirty_bound = 0.5;
  bool write_behind = true;
  // Other nodes write to the file's pages, too, and all hand their bytes over: write-behind leaves
  // pages that lack bytes, which would go to storage once for each node.
  bool hands_over = false;
  // Nothing happens in the background, and no decision depends on time.
  bool deterministic = false;
  SteppingAside step_aside = SteppingAside::automatic;
  const PredictorSpec* predictor = nullptr;
  // The bytes that this cache serves, if nodes own them; null: all.
  std::shared_ptr<const OwnPart> part;
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
  // The same past the cache, whatever the rules say. `began_ns`: when the caller began to see to
  // these bytes.
  template <typename Source>
  Status bypass_write(Extent extent, Source source);
  template <typename Target>
  Status bypass_read(Extent extent, Target target, int64_t* moved, int64_t began_ns);
  // The same for other nodes: what the cache lacks is fetched into pages, as far as frames are free
  // without waiting, and read past it otherwise. It waits for nobody who fills a page. *held: how
  // many bytes the cache held before, or somebody was fetching.
  template <typename Target>
  Status read_held(Extent extent, Target target, int64_t* moved, int64_t* held);

  // Where nodes own bytes: the program is about to read this run, whoever serves its parts. What
  // follows it is fetched ahead now, and not after the parts that this handle reads. Returns what
  // is foretold of bytes that other nodes own, within their chunks, valid until the next call.
  std::span<const Extent> note_read(Extent extent);
  // Fetches ahead what ranks of other nodes will read of this node's bytes.
  void fetch_foretold(std::span<const Extent> extents);

  // Touches the pages of a range for accesses that the policy is not told of (Access::told): it
  // learns of a request for all of the range, holes included. They have frames afterwards, as far
  // as there are any; for reads they have their bytes, too. No access of the handle may be under
  // way, but for one that waits for its pace.
  Status touch(Extent range, bool writes);

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
  // Whether so many pages lack bytes, which other nodes may have, that the cache would soon have to
  // commit them so.
  bool lacks_room_for_guests();
  // Gives all guests to their owners, who keep them dirty in their caches (hand_over.h), while
  // other handles of the node use the file. send(owner, plan) sends an owner's, and tells whether
  // it has them. What no owner takes goes to storage. Afterwards the node holds no guest but
  // what other handles have written meanwhile. A failure: some of them have not reached storage.
  template <typename Send>
  Status give_guests(const FileDomains& domains, uint32_t self, const Send& send);
  // Commits the guests within `range`, and waits for those under commit.
  Status commit_guests(Extent range, const FileDomains& domains, uint32_t self);
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

  class Telling;
  // Stands for the bytes of a page that is only touched.
  struct Touch {
    Touch operator+(int64_t) const { return {}; }
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
  void drop_predictor();
  void look_further_ahead(int64_t bytes);
  void expect_local_speed();
  void count_call(int64_t Statistics::*calls, bool& counted);
  bool bypasses(int64_t length) const;
  bool writes_through() const;
  bool continues_page(int64_t offset);
  void go_to_page(int64_t page);
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
  Status touch_to_write(Extent range);
  Status touch_to_read(Extent range);
  template <typename Target>
  Status read_untranslated(Extent extent, Target target, int64_t* got);
  template <typename Target>
  Status read_pages(Extent extent, Target target, int64_t* got);
  template <typename Target>
  Status read_long(Extent extent, Target target, int64_t* got);
  bool is_foreseen(Extent extent) const;
  Status write_behind();
  void look_for_stragglers();
  Status write_behind_together(const DirtyBound& bound);
  int64_t worth_a_wait_ns(uint32_t frames);
  Status await_stragglers(const DirtyBound& bound, int64_t distance, bool* near);
  Status look_ahead(Extent access);
  void fetch_in_background(std::span<const Extent> extents);
  std::span<const Extent> foretold(Extent access);
  bool take_offers(std::span<const Extent> fetch, const ReadRow& next);
  std::span<const Extent> own(std::span<const Extent> extents);
  void no_page();
  void make_foresight();
  void foresee(Extent run);

  // past_cache.h; *storage_ns: the time inside storage; null: not measured.
  class Past;
  template <typename Source>
  Status write_past(Extent extent, Source source, int64_t at, int64_t* storage_ns = nullptr);
  template <typename Source>
  Status write_past_now(Extent extent, Source source, int64_t* storage_ns);
  // A page without a frame is not touched.
  Status write_past_now(Extent, Touch, int64_t*) { return {}; }
  template <typename Target>
  Status read_past(Extent extent, Target target, int64_t* got, int64_t* storage_ns = nullptr);
  template <typename Target>
  Status read_resident_or_past(Extent extent, std::span<const Extent> lacking, Target target,
                               int64_t* moved);

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
  Gain::Background background_of(const Direction& direction) const;
  double fetch_ns_per_read() const;
  double commit_ns_per_byte() const;
  double commit_ns_per_request() const;

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
  int64_t last_touched_page_ = -1;  // by touch()
  bool told_ = true;                // of the access under way
  uint32_t next_look_ = 0;          // for full pages, when so many frames are dirty
  uint32_t next_guests_look_ = 0;   // the same for guests
  uint32_t partial_in_turn_ = 0;    // commits of pages that all handles have passed, no full among
  // Whether the access under way is collective. Then its ranks keep pace, or wait for each other's
  // answers, and nobody waits for stragglers.
  bool collective_ = false;
  Stragglers stragglers_;
  std::vector<HandleEnd> others_;  // at the last look
  bool must_keep_up_ = false;      // storage: write-behind has begun at some time
  bool bypass_counted_ = false;    // for the call under way
  bool aside_counted_ = false;
  bool no_page_counted_ = false;
  std::unique_ptr<Predictor> predictor_;  // nullptr: nothing is fetched ahead
  int64_t ahead_bytes_ = 0;               // that it fetches ahead at most
  Extent noted_read_;                     // the last one, of which the predictor knows
  // The pages that were fetched ahead last, if they follow each other. None after a page was found
  // missing.
  struct Pages {
    int64_t first = 0, last = -1;
    bool contain(const Pages& other) const { return first <= other.first && other.last <= last; }
  };
  Pages fetched_ahead_;
  std::vector<Extent> own_, of_others_;
  // What others offer, while it is looked through, and what is fetched with it.
  struct Offered {
    NextReads* reads;
    NextReads::Offer offer;
  };
  std::vector<NextReads*> next_reads_;
  std::vector<Offered> offered_;
  FetchList together_;
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
      evictions_(cache),
      together_(cache.page_size()) {
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
      before.earlier_reads != rules.earlier_reads) {
    ahead_bytes_ = 0;
    make_predictor();
  }
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
  ahead_bytes_ =
      std::max(ahead_bytes_, read_ahead_window(rules_.read_ahead_bytes, cache_.capacity_bytes()));
  drop_predictor();
  if (!reads_data_ || ahead_bytes_ <= 0) return;
  predictor_ = rules_.predictor->make(ahead_bytes_, cache_.page_size());
  if (rules_.earlier_reads != nullptr)
    predictor_ = std::make_unique<RecordedPredictor>(rules_.earlier_reads, std::move(predictor_),
                                                     ahead_bytes_, cache_.page_size());
}

template <typename Driver>
void CacheHandle<Driver>::drop_predictor() {
  predictor_.reset();
  file_.next_reads().withdraw();
}

// Reads that are so long that only one of them, or none, would have room ahead. What is fetched for
// all handles of the file has room in half of the cache, or is not fetched.
template <typename Driver>
void CacheHandle<Driver>::look_further_ahead(int64_t bytes) {
  const int64_t with_edges = 2 * (bytes + cache_.page_size());
  const int64_t handles = std::max<int64_t>(shared().handles, 1);
  if (with_edges <= ahead_bytes_ || 2 * bytes > cache_.capacity_bytes() / 2 / handles) return;
  ahead_bytes_ = with_edges;
  make_predictor();
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

// Whether the policy is told of the accesses that are carried out as long as it exists. What it is
// not told of is no last access to a page.
template <typename Driver>
class CacheHandle<Driver>::Telling {
 public:
  Telling(CacheHandle& handle, bool told)
      : handle_(handle), before_(std::exchange(handle.told_, told)), page_(handle.last_page_) {}
  ~Telling() {
    if (!handle_.told_) handle_.go_to_page(page_);
    handle_.told_ = before_;
  }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;

 private:
  CacheHandle& handle_;
  const bool before_;
  const int64_t page_;
};

template <typename Driver>
inline void CacheHandle<Driver>::begin_call(int64_t Statistics::*calls) {
  ++(statistics().*calls);
  bypass_counted_ = aside_counted_ = no_page_counted_ = false;
}

template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write(const Access& access, Source source, int64_t* moved) {
  begin_call(&Statistics::write_calls);
  collective_ = access.collective;
  *moved = 0;
  Status status;
  Stops stops(access.pace);
  const Telling telling(*this, access.told);
  for (AccessRuns runs(access); !runs.done();) {
    Extent run = runs.next();
    if (stops.must_wait(run.offset)) {
      status = write_waiting(source);
      if (!status.ok()) break;
      if (told_) ++statistics().pace_waits;
      stops.wait();
    }
    runs.cut(run, stops.round_end());
    status = write_run(run, source, *moved);
    if (!status.ok()) break;
    *moved += run.length;
    if (foresight_ != nullptr && told_) foresee(run);
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
  const Telling telling(*this, access.told);
  while (!runs.done()) {
    Extent run = runs.next();
    if (stops.must_wait(run.offset)) {
      if (told_) ++statistics().pace_waits;
      stops.wait();
    }
    runs.cut(run, stops.round_end());
    int64_t got = 0;
    status = read_run(run, target + *moved, &got);
    if (!status.ok()) break;
    *moved += got;
    if (foresight_ != nullptr && told_ && got > 0) foresee(run);
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
  collective_ = false;
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
  go_to_page(page);
  return same || !told_;
}

template <typename Driver>
void CacheHandle<Driver>::go_to_page(int64_t page) {
  if (std::exchange(last_page_, page) != page) translation_ = {};
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
#include "engine/handle_reads.h"
#include "engine/handle_touch.h"
#include "engine/handle_writes.h"
#include "engine/step_aside.h"
