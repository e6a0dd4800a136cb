// Rows of reads that handles offer each other: what ranks read in turn is fetched ahead as few
// large requests.
#include "engine/next_reads.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/cache_handle.h"
#include "engine/foretold_reads.h"
#include "predict/predictor.h"
#include "unit/engine/one_file_cache.h"

namespace forebay::sim {
namespace {

constexpr ReadRow row_of_three{{100, 10}, 50, 3};

TEST(NextReads, AreTakenOnce) {
  NextReads reads;
  EXPECT_FALSE(reads.look());
  reads.offer(row_of_three);
  const auto seen = reads.look();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->row.first, row_of_three.first);
  EXPECT_EQ(seen->row.step, row_of_three.step);
  EXPECT_EQ(seen->row.count, row_of_three.count);
  EXPECT_TRUE(reads.take(*seen));
  EXPECT_FALSE(reads.take(*seen));
  EXPECT_FALSE(reads.offered());
}

TEST(NextReads, AreNotTakenForAnotherRow) {
  NextReads reads;
  reads.offer(row_of_three);
  const auto old = reads.look();
  ASSERT_TRUE(old);
  reads.withdraw();
  EXPECT_FALSE(reads.look());
  reads.offer({{7, 1}, 2, 3});
  EXPECT_FALSE(reads.take(*old));
  EXPECT_TRUE(reads.offered());
  EXPECT_FALSE(NextReads(reads).offered()) << "of a copy";
}

constexpr int64_t bytes_a_page = 4096;
constexpr int64_t record_bytes = 3 * bytes_a_page;

HandleRules reading_ahead() {
  HandleRules rules;
  rules.deterministic = true;  // fetches ahead at once
  rules.read_ahead_bytes = 1 << 20;
  rules.predictor = find_predictor("signature");
  return rules;
}

// Handles of a file, each of which reads its own records, with one call each.
class HandlesInTurn : public testing::Test {
 protected:
  using Handle = CacheHandle<InstantDriver>;

  HandlesInTurn() { cache_.state().stored_bytes = int64_t{1} << 40; }
  void open(int64_t handles) {
    for (int64_t h = 0; h < handles; ++h) {
      files_.push_back(h == 0 ? &cache_.file() : &cache_.open());
      handles_.emplace_back(cache_.cache(), *files_.back(), reading_ahead(), true, false);
    }
  }
  // Record `index` of the handle, if records of so many handles alternate.
  void read(int64_t handle, int64_t index, int64_t of_handles) {
    read_at(handle, (index * of_handles + handle) * record_bytes);
  }
  void read_at(int64_t handle, int64_t offset) {
    int64_t got = 0;
    EXPECT_TRUE(handles_[static_cast<std::size_t>(handle)]
                    .read(Extent{offset, record_bytes}, NoBytes{}, &got)
                    .ok());
    EXPECT_EQ(got, record_bytes);
  }
  bool offers(int64_t handle) const {
    return files_[static_cast<std::size_t>(handle)]->next_reads().offered();
  }
  const Statistics& statistics() const { return cache_.statistics(); }

 private:
  OneFileCache<InstantDriver> cache_{one_shard(bytes_a_page, 4096)};
  std::vector<InstantFile*> files_;
  std::deque<Handle> handles_;
};

TEST_F(HandlesInTurn, FetchInFewLargeRequests) {
  constexpr int64_t handles = 4, records = 1000;
  open(handles);
  for (int64_t i = 0; i < records; ++i) {
    for (int64_t h = 0; h < handles; ++h) read(h, i, handles);
  }
  EXPECT_EQ(statistics().misses, handles * 3 * 3) << "the pages of three records of each handle";
  EXPECT_LE(statistics().read_requests, handles * records / 15);
  EXPECT_LE(statistics().fetched_bytes, handles * (records * record_bytes + (2 << 20)));
}

// Handles that are some records apart.
TEST_F(HandlesInTurn, FetchInFewRequestsWhoeverIsAhead) {
  constexpr int64_t handles = 4, records = 1000;
  open(handles);
  for (int64_t i = 0; i < records + 3 * handles; ++i) {
    for (int64_t h = 0; h < handles; ++h) {
      const int64_t index = i - 3 * h;
      if (index >= 0 && index < records) read(h, index, handles);
    }
  }
  EXPECT_EQ(statistics().misses, handles * 3 * 3);
  EXPECT_LE(statistics().read_requests, handles * records / 8);
}

TEST_F(HandlesInTurn, LeaveRowsThatAreFarAwayAlone) {
  open(2);
  for (int64_t i = 0; i < 10; ++i) read_at(1, (int64_t{1} << 30) + i * 4 * record_bytes);
  ASSERT_TRUE(offers(1));
  const int64_t before = statistics().fetched_bytes;
  for (int64_t i = 0; i < 100; ++i) read(0, i, 4);
  EXPECT_TRUE(offers(1));
  EXPECT_LE(statistics().fetched_bytes - before, 100 * record_bytes + (1 << 20));
}

// For a handle that reads no more, little is fetched in vain.
TEST_F(HandlesInTurn, FetchNoMoreForAHandleThatHasStopped) {
  open(2);
  for (int64_t i = 0; i < 10; ++i) {
    read(0, i, 4);
    read(1, i, 4);
  }
  for (int64_t i = 10; i < 1000; ++i) read(0, i, 4);
  EXPECT_LE(statistics().fetched_bytes, 1010 * record_bytes + (5 << 19)) << "a window of 1 MiB";
}

TEST_F(HandlesInTurn, WithdrawARowThatIsNotReadNext) {
  open(1);
  for (int64_t i = 0; i < 10; ++i) read(0, i, 4);
  ASSERT_TRUE(offers(0));
  read_at(0, int64_t{1} << 30);
  EXPECT_FALSE(offers(0));
}

// What a handle has fetched in the background.
std::vector<Extent> fetched_behind;

struct NotingFile : InstantFile {
  explicit NotingFile(const InstantFile& opened) : InstantFile(opened) {}
  void fetch_in_background(std::span<const Extent> extents) const {
    fetched_behind.insert(fetched_behind.end(), extents.begin(), extents.end());
  }
};

class NotingDriver : public InstantDriver {
 public:
  using OpenFile = NotingFile;
  using InstantDriver::InstantDriver;
};

// A node owns every other chunk of the file.
class ReadsOfSeveralOwners : public testing::Test {
 protected:
  ReadsOfSeveralOwners() {
    fetched_behind.clear();
    cache_.state().stored_bytes = int64_t{1} << 40;
    HandleRules rules = reading_ahead();
    rules.deterministic = false;
    rules.step_aside = SteppingAside::never;
    rules.part = std::make_shared<OwnPart>(OwnPart{domains, 0});
    handle_.emplace(cache_.cache(), cache_.file(), rules, true, false);
  }
  void read(Extent extent) {
    int64_t got = 0;
    EXPECT_TRUE(handle_->read(extent, NoBytes{}, &got).ok());
  }
  static int64_t bytes_of(std::span<const Extent> extents) {
    int64_t bytes = 0;
    for (const Extent& extent : extents) bytes += extent.length;
    return bytes;
  }

  static constexpr int64_t chunk_bytes = 50 * bytes_a_page;
  const FileDomains domains{0, chunk_bytes, 2};
  OneFileCache<NotingDriver> cache_{one_shard(bytes_a_page, 4096)};
  std::optional<CacheHandle<NotingDriver>> handle_;
};

// The program's reads follow a rule, but not the parts of them that one node owns.
TEST_F(ReadsOfSeveralOwners, AreForetoldToTheirOwners) {
  constexpr int64_t records = 400, step = 7 * bytes_a_page;
  std::vector<Extent> of_others;
  for (int64_t i = 0; i < records; ++i) {
    const std::span<const Extent> next = handle_->note_read({i * step, record_bytes});
    of_others.insert(of_others.end(), next.begin(), next.end());
  }
  for (const Extent& extent : fetched_behind) {
    EXPECT_EQ(domains.owner_of(extent.offset), 0u);
    EXPECT_LE(extent.end(), domains.chunk_at(extent.offset).end());
  }
  for (const Extent& extent : of_others) {
    EXPECT_EQ(domains.owner_of(extent.offset), 1u);
    EXPECT_LE(extent.end(), domains.chunk_at(extent.offset).end());
  }
  const int64_t foretold = bytes_of(fetched_behind) + bytes_of(of_others);
  EXPECT_GE(foretold, (records - 3) * record_bytes) << "each once";
  EXPECT_LE(foretold, (records - 3) * record_bytes + (1 << 20));
}

TEST_F(ReadsOfSeveralOwners, AreForetoldOnce) {
  for (int64_t i = 0; i < 4; ++i) {
    const Extent record{2 * i * chunk_bytes, record_bytes};
    (void)handle_->note_read(record);
    const std::size_t foretold = fetched_behind.size();
    read({record.offset, bytes_a_page});
    EXPECT_EQ(fetched_behind.size(), foretold) << "by the part that this node serves";
  }
  EXPECT_FALSE(fetched_behind.empty());
}

TEST_F(ReadsOfSeveralOwners, AreFetchedForOtherNodes) {
  const std::vector<Extent> foretold{{0, record_bytes}, {chunk_bytes, record_bytes}};
  handle_->fetch_foretold(foretold);
  EXPECT_EQ(fetched_behind, std::vector<Extent>({{0, record_bytes}}));
  read({0, record_bytes});
  fetched_behind.clear();
  handle_->fetch_foretold(foretold);
  EXPECT_TRUE(fetched_behind.empty()) << "the cache has all of it";
}

TEST(ForetoldReads, AreToldEachOwnerOnce) {
  const FileDomains domains(0, 100, 2);
  ForetoldReads reads(2);
  reads.add(std::vector<Extent>{{0, 10}, {110, 10}, {250, 10}}, domains);
  const auto told = [&](uint32_t owner) {
    const std::span<const Extent> extents = reads.take(owner);
    return std::vector<Extent>(extents.begin(), extents.end());
  };
  EXPECT_EQ(told(0), std::vector<Extent>({{0, 10}, {250, 10}}));
  EXPECT_TRUE(told(0).empty());
  reads.clear();
  EXPECT_TRUE(told(1).empty());
}

// An owner that is not asked for long needs to know only the latest.
TEST(ForetoldReads, AreBounded) {
  const FileDomains domains(0, 100, 1);
  ForetoldReads reads(1);
  for (int64_t i = 0; i < 1000; ++i) reads.add(std::vector<Extent>{{i, 1}}, domains);
  const std::span<const Extent> told = reads.take(0);
  EXPECT_LE(told.size(), ForetoldReads::most_extents);
  EXPECT_EQ(told.back().offset, 999);
}

}  // namespace
}  // namespace forebay::sim
