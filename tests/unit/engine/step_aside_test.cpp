// The cache's judgement of itself, with a scripted clock: an instant cache whose storage, hits and
// fetches ahead take the time that a test says.
#include "engine/step_aside.h"

#include <gtest/gtest.h>

#include <memory>

#include "predict/predictor.h"
#include "unit/engine/one_file_cache.h"

namespace forebay::sim {
namespace {

struct Costs {
  int64_t hit_ns = 100;
  int64_t request_ns = 700;
  double storage_ns_per_byte = 0.2;
  bool storage_waits = false;
  int64_t fetch_ahead_ns_per_page = 20'000;  // processor time
};

int64_t clock_ns = 0;
Costs costs;
Cache<class TimedDriver>* timed_cache = nullptr;

struct TimedFile : InstantFile {
  explicit TimedFile(const InstantFile& opened) : InstantFile(opened) {}

  void begin_use(uint64_t) const { clock_ns += costs.hit_ns; }
  Status read_past(Extent extent, NoBytes bytes, int64_t* got, int64_t* storage_ns) const {
    const int64_t took = ns_of(extent.length);
    clock_ns += took;
    if (storage_ns != nullptr) *storage_ns = took;
    return InstantFile::read_past(extent, bytes, got, storage_ns);
  }
  void fetch_in_background(std::span<const Extent> extents) const;

  static int64_t ns_of(int64_t bytes) {
    return costs.request_ns +
           static_cast<int64_t>(costs.storage_ns_per_byte * static_cast<double>(bytes));
  }
};

class TimedDriver : public InstantDriver {
 public:
  using OpenFile = TimedFile;
  using InstantDriver::InstantDriver;
  bool lock(uint32_t) {
    clock_ns += costs.hit_ns;
    return false;
  }
  static int64_t now_ns() { return clock_ns; }
  void begin_read(const TimedFile& file, const IoPlan& plan, const Staging& staging,
                  Transfer& transfer) const {
    for (const IoPlan::Run& run : plan.runs()) clock_ns += TimedFile::ns_of(run.extent.length);
    InstantDriver::begin_read(file, plan, staging, transfer);
  }
};

// The helper thread runs beside the ranks: their clock stands still.
void TimedFile::fetch_in_background(std::span<const Extent> extents) const {
  const int64_t before = clock_ns;
  const int64_t fetched_before = counted->fetched_bytes;
  TimedFile same = *this;
  PageCursor pages(extents, timed_cache->page_size());
  while (timed_cache->prefetch(same, pages)) {
  }
  clock_ns = before;
  const int64_t fetched = (counted->fetched_bytes - fetched_before) / timed_cache->page_size();
  if (!costs.storage_waits) file->fetch_ahead_ns += fetched * costs.fetch_ahead_ns_per_page;
}

constexpr int64_t page_size = 64 << 10;

// A local file with one reader.
class ReadsStepAside : public ::testing::Test {
 protected:
  ReadsStepAside() {
    one_.state().stored_bytes = int64_t{1} << 40;
    HandleRules rules;
    rules.read_ahead_bytes = 1 << 20;
    rules.local_bypass_bytes = 8 << 10;
    rules.predictor = find_predictor("signature");
    handle_ =
        std::make_unique<CacheHandle<TimedDriver>>(one_.cache(), one_.file(), rules, true, true);
    timed_cache = &one_.cache();
    clock_ns = 0;
    costs = {};
  }

  // Reads so many records, one every `stride` bytes. Returns the clock's time.
  int64_t read(int calls, int64_t bytes, int64_t stride) {
    const int64_t before = clock_ns;
    for (int call = 0; call < calls; ++call, at_ += stride) {
      int64_t moved = 0;
      EXPECT_TRUE(handle_->read(Access{.position = at_, .bytes = bytes}, NoBytes{}, &moved).ok());
      EXPECT_EQ(moved, bytes);
    }
    return clock_ns - before;
  }
  bool aside() const { return (one_.state().aside & reads_aside) != 0; }

  const Statistics& statistics() const { return one_.statistics(); }

 private:
  OneFileCache<TimedDriver> one_{{.page_kind = find_page_kind("tree"),
                                  .policy = find_policy("lru"),
                                  .page_size = page_size,
                                  .capacity_bytes = 256 * page_size,
                                  .shards = 1}};
  std::unique_ptr<CacheHandle<TimedDriver>> handle_;
  int64_t at_ = 0;
};

// Of each page, a few records are read: fetching it whole takes more than reading them.
TEST_F(ReadsStepAside, WhereFetchingAheadTakesMoreThanItSaves) {
  read(400, 1000, 20'000);
  EXPECT_TRUE(aside());
  const int64_t fetched = statistics().fetched_bytes;
  EXPECT_GT(fetched, 0);
  read(600, 1000, 20'000);
  EXPECT_TRUE(aside());
  EXPECT_EQ(statistics().fetched_bytes, fetched);  // nothing is fetched ahead for reads past it
  EXPECT_LE(statistics().aside_calls,
            statistics().bypass_calls);  // not those that find bytes there
}

TEST_F(ReadsStepAside, NotWhereReadsShareWhatWasFetched) {
  read(100'000, 300, 300);
  EXPECT_FALSE(aside());
  EXPECT_LT(statistics().bypass_calls, 100);
}

// Storage lets a thread wait: what the helper thread takes is less than the wait that it hides.
TEST_F(ReadsStepAside, NotWhereStorageIsWaitedFor) {
  costs.storage_waits = true;
  read(5000, 1000, 20'000);
  EXPECT_FALSE(aside());
}

TEST_F(ReadsStepAside, UntilStorageNoLongerAnswersFromMemory) {
  read(400, 1000, 20'000);
  ASSERT_TRUE(aside());
  costs.request_ns = 2'000'000;
  costs.storage_waits = true;
  read(600, 1000, 20'000);
  EXPECT_FALSE(aside());
}

}  // namespace
}  // namespace forebay::sim
