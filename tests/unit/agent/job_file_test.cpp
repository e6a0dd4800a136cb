// A file of two nodes, as a rank of one of them uses it.
#include "agent/job_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "unit/agent/silent_exchange.h"
#include "unit/agent/two_agents.h"
#include "unit/close_to_open_calls.h"

namespace forebay::agent {
namespace {

// A file whose chunks belong in turn to this node and to another: both are this process here, with
// one cache, but the bytes go different ways.
class JobFileTest : public AgentTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(AgentTest::SetUp());
    open(small_options());
  }
  // `close_to_open`: as on a file system whose clients keep bytes.
  void open(const Options& options, bool close_to_open = false) {
    file_.reset();
    here_.reset();
    Status status;
    here_ = CachedFile::open(disk_.path(), OpenMode::read_write, options, &status,
                             close_to_open ? calls_.opener(disk_.path()) : nullptr);
    ASSERT_NE(here_, nullptr);
    file_ = std::make_unique<JobFile>(*here_, owners(), 1, *terms());
  }
  void TearDown() override {
    file_.reset();
    here_.reset();
  }

  test::CloseToOpenCalls calls_;
  std::unique_ptr<CachedFile> here_;
  std::unique_ptr<JobFile> file_;
};

// Long: runs of at least so many bytes go past the caches.
class JobFileModelTest : public JobFileTest,
                         public ::testing::WithParamInterface<std::tuple<int64_t, bool, bool>> {};

INSTANTIATE_TEST_SUITE_P(LongAndFirstTouchAndCloseToOpen, JobFileModelTest,
                         ::testing::Combine(::testing::Values(1 << 20, 2 * page, 20),
                                            ::testing::Bool(), ::testing::Bool()));

TEST_P(JobFileModelTest, AgreesWithAModel) {
  const int64_t least_long = std::get<0>(GetParam());
  first_touch_ = std::get<1>(GetParam());
  Options options = small_options();
  options.bypass_bytes = least_long;
  const bool close_to_open = std::get<2>(GetParam());
  ASSERT_NO_FATAL_FAILURE(open(options, close_to_open));
  std::mt19937_64 random(7);
  const auto draw = [&](int64_t below) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  };
  std::string model;
  // Three bytes of data, two of gap, three of data in each ten.
  const Tiling view{Layout::indexed({0, 5}, {3, 3}, 1, Layout::block(1)), 1, 10};
  for (int step = 0; step < 3000; ++step) {
    const bool writes = draw(2) == 0;
    const bool tiled = draw(2) == 0;
    const bool scattered = draw(2) == 0;
    const int64_t bytes = draw(draw(8) == 0 ? 5 * page : 50);
    const Access access{writes, false, tiled ? &view : nullptr, draw(6 * page), bytes};
    std::string memory(static_cast<std::size_t>(2 * bytes), '?');
    for (char& c : memory) c = static_cast<char>('a' + draw(26));
    const std::string before = memory;
    const Tiling every_second{Layout::block(1), reinterpret_cast<intptr_t>(memory.data()), 2};
    int64_t moved = -1;
    const Status status =
        scattered ? file_->access(access, every_second, &moved)
                  : file_->access(access, reinterpret_cast<std::byte*>(memory.data()), &moved);
    ASSERT_TRUE(status.ok()) << describe(status.code);
    int64_t expected = 0;
    for (int64_t b = 0; b < bytes; ++b) {
      const auto offset = static_cast<std::size_t>(tiled ? view.offset_of(access.position + b)
                                                         : access.position + b);
      const auto at = static_cast<std::size_t>(scattered ? 2 * b : b);
      if (writes) {
        if (model.size() <= offset) model.resize(offset + 1);
        model[offset] = before[at];
        expected = bytes;
      } else if (offset < model.size()) {
        ASSERT_EQ(memory[at], model[offset]) << "step " << step << " offset " << offset;
        ++expected;
      }
    }
    ASSERT_EQ(moved, expected) << "step " << step;
    int64_t size = 0;
    ASSERT_TRUE(file_->size(&size).ok());
    ASSERT_EQ(size, std::ssize(model));
    if (draw(100) == 0) {
      ASSERT_TRUE(file_->commit_everywhere(draw(2) == 0).ok());
      ASSERT_EQ(stored(), model);
    }
    if (draw(200) == 0 && !model.empty()) {
      const int64_t cut = draw(std::ssize(model));
      ASSERT_TRUE(file_->commit_everywhere(true).ok());
      file_->truncate_everywhere(cut);
      ASSERT_EQ(truncate(disk_.path().c_str(), cut), 0);
      file_->truncate_everywhere(cut);
      model.resize(static_cast<std::size_t>(cut));
    }
  }
  ASSERT_TRUE(file_->leave(false).ok());
  ASSERT_TRUE(here_->close(false).ok());
  EXPECT_EQ(stored(), model);
  // Of chunks in turn, a run of two pages has one of this node's only.
  const bool has_long = least_long <= (close_to_open && !first_touch_ ? page : 2 * page);
  EXPECT_EQ(file_->statistics().bypass_calls > 0, has_long);
}

// Where a file system shows a node at an open only what others have written, bytes reach it through
// their owner's client alone: past the caches go those of this node.
TEST_F(JobFileTest, OwnBytesAloneGoPastTheCachesWhereNodesDoNotSeeEachOther) {
  Options options = small_options();
  options.bypass_bytes = page;
  ASSERT_NO_FATAL_FAILURE(open(options, true));
  std::vector<std::byte> bytes(8 * page, std::byte{5});
  EXPECT_FALSE(file_->is_long(std::ssize(bytes)));
  ASSERT_TRUE(file_->write(0, bytes.data(), std::ssize(bytes)).ok());
  EXPECT_EQ(file_->statistics().asked_bytes, 4 * page);
  EXPECT_EQ(file_->statistics().bypass_bytes, 4 * page);
  int64_t moved = 0;
  ASSERT_TRUE(file_->read(page / 2, bytes.data(), 2 * page, &moved).ok());
  EXPECT_EQ(moved, 2 * page);
  EXPECT_EQ(file_->statistics().asked_bytes, 4 * page + page);
  EXPECT_EQ(file_->statistics().bypass_bytes, 4 * page + page);
  ASSERT_TRUE(file_->leave(false).ok());
  ASSERT_TRUE(here_->close(false).ok());
  EXPECT_EQ(stored(), std::string(8 * page, '\5'));
}

// With the option `deterministic` an access is noted step by step, in the owners' caches.
TEST_F(JobFileTest, NotesWhatAnAccessDoesToEachCache) {
  Options options = small_options();
  options.deterministic = true;
  options.cache_size_bytes = 512 * page;
  options.bypass_bytes = 1024 * page;
  FileTerms deterministic = *terms();
  deterministic.options = options;
  file_.reset();
  here_.reset();
  runtime::NumberedSteps::begin();
  Status status;
  here_ = CachedFile::open(disk_.path(), OpenMode::read_write, options, &status);
  ASSERT_NE(here_, nullptr);
  file_ = std::make_unique<JobFile>(*here_, owners(), 1, deterministic);
  std::vector<std::byte> bytes(256 * page);
  ASSERT_TRUE(file_->write(page / 2, bytes.data(), std::ssize(bytes)).ok());
  int64_t moved = 0;
  ASSERT_TRUE(file_->read(page / 2, bytes.data(), std::ssize(bytes), &moved).ok());
  ASSERT_TRUE(file_->commit_everywhere(true).ok());
  ASSERT_TRUE(file_->leave(false).ok());
  ASSERT_TRUE(here_->close(false).ok());
  const std::vector<runtime::NumberedStep> steps = runtime::NumberedSteps::end();
  // Both nodes are this process, so one registry numbers all steps.
  std::vector<uint64_t> numbers;
  std::map<std::tuple<bool, trace::CacheStep>, int64_t> bytes_of_steps, count;
  for (const runtime::NumberedStep& step : steps) {
    numbers.push_back(step.sequence);
    // Of a share with bytes, the cache is this node's.
    const bool others =
        step.cache != 0 && !(step.step == trace::CacheStep::share && step.bytes != 0);
    const Key& key = others ? agent_.key() : own_agent_->key();
    EXPECT_TRUE(step.cache == 0 || step.cache == number_of_cache(key));
    bytes_of_steps[{others, step.step}] += step.bytes;
    ++count[{others, step.step}];
  }
  std::ranges::sort(numbers);
  for (std::size_t n = 1; n < numbers.size(); ++n) EXPECT_EQ(numbers[n], numbers[n - 1] + 1);
  using enum trace::CacheStep;
  for (const bool others : {false, true}) {
    for (const trace::CacheStep once : {join, share, leave})
      EXPECT_EQ((count[{others, once}]), 1) << others;
    EXPECT_GE((count[{others, drop_clean}]), 1);
    // Half of the bytes each; of long lists an agent reads one piece after the other.
    EXPECT_EQ((bytes_of_steps[{others, write}]), 128 * page);
    EXPECT_EQ((bytes_of_steps[{others, read}]), 128 * page);
    EXPECT_EQ((count[{others, write}]), 1);
    EXPECT_EQ((count[{others, read}]), others ? 2 : 1);
  }
}

// The file through two nodes whose chunks belong to the node that writes first: `file_` is the
// second node's, `other_` the first one's. Pages 0 and 2 have their home at the first node.
class FirstTouchTest : public JobFileTest {
 protected:
  void SetUp() override {
    first_touch_ = true;
    ASSERT_NO_FATAL_FAILURE(JobFileTest::SetUp());
    other_ = std::make_unique<JobFile>(*here_, owners(), 0, *terms());
  }
  void TearDown() override {
    other_.reset();
    JobFileTest::TearDown();
  }
  static Status write(JobFile& file, int64_t offset, const std::string& text) {
    return file.write(offset, bytes_of(text).data(), std::ssize(text));
  }
  static Status read(JobFile& file, int64_t offset, std::string* text) {
    text->resize(4);
    int64_t moved = 0;
    const Status status = file.read(offset, reinterpret_cast<std::byte*>(text->data()), 4, &moved);
    text->resize(static_cast<std::size_t>(moved));
    return status;
  }
  std::unique_ptr<JobFile> other_;
};

TEST_F(FirstTouchTest, AsksTheNodeThatWroteFirst) {
  std::string text;
  ASSERT_TRUE(read(*other_, 0, &text).ok());
  EXPECT_EQ(text, "");
  ASSERT_TRUE(write(*file_, 0, "mine").ok());
  ASSERT_TRUE(write(*other_, 0, "ours").ok());  // claims nothing any more
  ASSERT_TRUE(read(*file_, 0, &text).ok());
  EXPECT_EQ(text, "ours");
  ASSERT_TRUE(write(*other_, 2 * page, "last").ok());
  JobFile late(*here_, owners(), 0, *terms());
  own_agent_.reset();  // the second node dies
  EXPECT_FALSE(read(*other_, 0, &text).ok());
  EXPECT_FALSE(read(late, 0, &text).ok());
  ASSERT_TRUE(read(*other_, 2 * page, &text).ok());
  EXPECT_EQ(text, "last");
}

TEST_F(FirstTouchTest, ClaimsByALongWrite) {
  Options options = small_options();
  options.bypass_bytes = page;
  here_->change_options(options);
  ASSERT_TRUE(write(*file_, 0, std::string(3 * page, 'x')).ok());
  EXPECT_EQ(stored(), std::string(3 * page, 'x'));
  std::string text;
  ASSERT_TRUE(read(*other_, page, &text).ok());
  EXPECT_EQ(text, "xxxx");
  own_agent_.reset();
  EXPECT_FALSE(read(*other_, 0, &text).ok());
  EXPECT_FALSE(read(*other_, 2 * page, &text).ok());
}

TEST_F(FirstTouchTest, LeavesWhatIsOnlyReadToItsHome) {
  std::ofstream(disk_.path()) << std::string(4 * page, 'r');
  std::string text;
  for (int64_t at = 0; at < 4 * page; at += page) {
    ASSERT_TRUE(read(*file_, at, &text).ok());
    EXPECT_EQ(text, "rrrr");
  }
  ASSERT_TRUE(file_->leave(false).ok());
  EXPECT_EQ(file_->statistics().read_calls, 4);
  ASSERT_TRUE(write(*other_, page, "claimed").ok());  // its home has only read it
  own_agent_.reset();
  ASSERT_TRUE(read(*other_, page, &text).ok());
  EXPECT_EQ(text, "clai");
}

TEST_F(JobFileTest, FollowsAnOptionThatChanges) {
  const std::string text(page, 'x');
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  ASSERT_TRUE(file_->write(0, bytes, page).ok());
  EXPECT_EQ(stored(), "");
  Options options = small_options();
  options.bypass_bytes = page;
  here_->change_options(options);
  ASSERT_TRUE(file_->write(2 * page, bytes, page).ok());
  EXPECT_EQ(stored(), std::string(2 * page, '\0') + text);
}

TEST_F(JobFileTest, ReadsZerosBelowTheEndThatAnotherOwnerKnows) {
  const std::string last = "end";
  ASSERT_TRUE(file_->write(3 * page, reinterpret_cast<const std::byte*>(last.data()), 3).ok());
  std::string memory(4 * page, '?');
  int64_t moved = 0;
  ASSERT_TRUE(file_->read(0, reinterpret_cast<std::byte*>(memory.data()), 4 * page, &moved).ok());
  EXPECT_EQ(moved, 3 * page + 3);
  EXPECT_EQ(memory.substr(0, 3 * page), std::string(3 * page, '\0'));
  EXPECT_EQ(memory.substr(3 * page, 4), "end?");
}

TEST_F(JobFileTest, CountsTheProgramsCalls) {
  const std::vector<std::byte> bytes(2 * page);
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE(file_->write(page / 2, bytes.data(), std::ssize(bytes)).ok());
  }
  ASSERT_TRUE(file_->leave(false).ok());
  EXPECT_EQ(file_->statistics().write_calls, 3);
  EXPECT_EQ(file_->statistics().write_bytes, 6 * page);
}

TEST_F(JobFileTest, AsksNobodyAsLongAsOwnersHoldNothing) {
  Owners nobody = owners();
  for (Address& agent : nobody.agents) agent.key[1] ^= 1;
  JobFile lost(*here_, nobody, 1, *terms());
  Options options = small_options();
  options.bypass_bytes = 2 * page;
  here_->change_options(options);
  std::vector<std::byte> bytes(4 * page);
  EXPECT_EQ(lost.write(0, bytes.data(), 4 * page).code, Code::network);
  ASSERT_TRUE(here_->note_held(runtime::Held::nothing));
  EXPECT_TRUE(lost.write(0, bytes.data(), 4 * page).ok());
  int64_t moved = 0;
  EXPECT_TRUE(lost.read(page, bytes.data(), 4 * page, &moved).ok());
  EXPECT_EQ(moved, 3 * page);
  EXPECT_TRUE(lost.size(&moved).ok());
  EXPECT_EQ(moved, 4 * page);
  EXPECT_TRUE(lost.write(page, bytes.data(), 1).ok());  // this node's own, and tells the owners
  EXPECT_EQ(here_->held(), runtime::Held::told);
  EXPECT_FALSE(here_->note_held(runtime::Held::nothing));
  EXPECT_EQ(lost.write(0, bytes.data(), 4 * page).code, Code::network);
  EXPECT_TRUE(lost.leave(true).ok());
}

// Records that have a page of this node and one of another.
TEST_F(JobFileTest, ForetellsTheOwnersWhatIsReadNext) {
  constexpr int64_t records = 60;
  Options options = small_options();
  options.cache_size_bytes = 1024 * page;
  std::fstream(disk_.path(), std::ios::binary | std::ios::in | std::ios::out)
      << std::string(8 * records * page, 'x');
  int64_t ahead_pages = 0;
  for (int attempt = 1; attempt <= 10 && ahead_pages < records; ++attempt) {
    open(options);
    for (int64_t i = 0; i < records; ++i) {
      std::string read(2 * page, '-');
      int64_t moved = 0;
      ASSERT_TRUE(file_
                      ->read(8 * i * page, reinterpret_cast<std::byte*>(read.data()),
                             std::ssize(read), &moved)
                      .ok());
      ASSERT_EQ(read, std::string(2 * page, 'x'));
      std::this_thread::sleep_for(std::chrono::milliseconds(attempt));
    }
    ASSERT_TRUE(file_->leave(false).ok());
    ahead_pages = file_->statistics().ahead_pages;
    here_->drop_clean();
  }
  EXPECT_GE(ahead_pages, records) << "of " << 2 * records;
}

TEST_F(JobFileTest, FailsWhereAnOwnerCannotBeTold) {
  FileTerms elsewhere = *terms();
  elsewhere.path += "-that-is-not-there";
  JobFile file(*here_, owners(), 1, elsewhere);
  const std::byte byte{1};
  EXPECT_TRUE(file.write(page, &byte, 0).ok());  // nothing: nobody need know
  const Status status = file.write(page, &byte, 1);
  EXPECT_EQ(status.code, Code::unsupported) << describe(status.code);
  EXPECT_TRUE(file.leave(true).ok());
}

// What all ranks move at once must have room in the owners' caches, however few these are.
TEST_F(JobFileTest, MovesLessAtOnceToFewOwnersThanToMany) {
  Options options = small_options();
  options.cache_size_bytes = 4096 * page;
  options.bypass_bytes = beyond_capacity;
  open(options);
  const std::string text(1024 * page, 'x');
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  const auto most_at_once = [&](JobFile& file, int64_t ranks) {
    SilentExchange exchange(ranks);
    file.exchange_over(&exchange);
    int64_t moved = 0;
    // Failure of the first window ends the access.
    const Access whole{true, true, nullptr, 0, std::ssize(text)};
    EXPECT_EQ(file.access(whole, const_cast<std::byte*>(bytes), &moved).code, Code::network);
    file.exchange_over(nullptr);
    return exchange.asked_bytes;
  };
  Owners one_has_all = owners();
  one_has_all.domains = one_has_all.domains.in_rounds_of(1);
  JobFile to_one(*here_, one_has_all, 1, *terms());
  const int64_t room = here_->pace_bytes();
  EXPECT_EQ(most_at_once(to_one, 8), room / 16);
  // Twice as large a window, of which the other node owns half.
  EXPECT_NEAR(static_cast<double>(most_at_once(*file_, 8)), static_cast<double>(room) / 16, page);
  EXPECT_TRUE(to_one.leave(true).ok());
}

// Of a file that is only read: such a run may have been fetched ahead.
TEST_F(AgentTest, LeavesLongCollectiveReadsToTheNodesOwnCache) {
  std::ofstream(disk_.path()) << std::string(8 * page, 'r');
  Options options = small_options();
  options.bypass_bytes = 2 * page;
  options.read_ahead_bytes = 0;
  Status status;
  const auto here = CachedFile::open(disk_.path(), OpenMode::read_only, options, &status);
  ASSERT_NE(here, nullptr);
  JobFile file(*here, owners(), 1, *terms());
  std::string memory(4 * page, '?');
  auto* const to = reinterpret_cast<std::byte*>(memory.data());
  int64_t moved = 0;
  ASSERT_TRUE(file.read(2 * page, to, 4, &moved).ok());  // of the other node's page, a copy
  SilentExchange exchange;
  file.exchange_over(&exchange);
  EXPECT_EQ(file.access({false, true, nullptr, 2 * page, 4}, to, &moved).code, Code::network);
  const int64_t past = file.statistics().bypass_bytes;
  ASSERT_TRUE(file.access({false, true, nullptr, 0, 4 * page}, to, &moved).ok());
  EXPECT_EQ(memory, std::string(4 * page, 'r'));
  EXPECT_EQ(file.statistics().bypass_bytes, past + 3 * page);  // the cache held the fourth
  EXPECT_TRUE(file.leave(false).ok());
}

// The owners get other parts: what was written is with storage, and bytes go the new ways.
TEST_F(JobFileTest, GivesTheOwnersOtherParts) {
  const std::string text(4 * page, 'x');
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  ASSERT_TRUE(file_->write(0, bytes, 4 * page).ok());
  EXPECT_EQ(file_->bytes_by_owner(), (std::vector<int64_t>{2 * page, 2 * page}));
  const FileDomains before = file_->domains();
  ASSERT_TRUE(file_->prepare_change(FileDomains(0, 4 * page, 2)).ok());
  EXPECT_EQ(file_->domains().chunk_bytes(), before.chunk_bytes());
  ASSERT_TRUE(file_->commit_for_change().ok());
  EXPECT_EQ(stored(), text);
  file_->change();
  EXPECT_EQ(file_->domains().chunk_bytes(), 4 * page);
  EXPECT_EQ(file_->owners().domains.chunk_bytes(), 4 * page);
  EXPECT_EQ(here_->owners(), file_->owners().identity());
  const std::optional<Owners> record = Owners::decoded(here_->owners_record());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->domains.chunk_bytes(), 4 * page);
  ASSERT_TRUE(file_->write(page, bytes, 2 * page).ok());
  EXPECT_EQ(file_->bytes_by_owner(), (std::vector<int64_t>{4 * page, 2 * page}));
  std::string memory(4 * page, '?');
  int64_t moved = 0;
  ASSERT_TRUE(file_->read(0, reinterpret_cast<std::byte*>(memory.data()), 4 * page, &moved).ok());
  EXPECT_EQ(memory, text);
}

// Chunks that nodes have claimed are parts like others when the owners get other parts.
TEST_F(FirstTouchTest, GivesTheOwnersOtherParts) {
  ASSERT_TRUE(write(*file_, 2 * page, "abcd").ok());  // whose home is the other node
  ASSERT_TRUE(write(*other_, page, "efgh").ok());
  for (JobFile* file : {file_.get(), other_.get()})
    ASSERT_TRUE(file->prepare_change(FileDomains(0, 4 * page, 2)).ok());
  ASSERT_TRUE(file_->commit_for_change().ok());
  for (JobFile* file : {file_.get(), other_.get()}) file->change();
  std::string text;
  for (JobFile* file : {file_.get(), other_.get()}) {
    ASSERT_TRUE(read(*file, 2 * page, &text).ok());
    EXPECT_EQ(text, "abcd");
    ASSERT_TRUE(read(*file, page, &text).ok());
    EXPECT_EQ(text, "efgh");
  }
  // Both pages are the first node's now.
  EXPECT_EQ(file_->bytes_by_owner(), (std::vector<int64_t>{8, 4}));
  EXPECT_FALSE(file_->nothing_held());
}

// A read past the caches of bytes that nobody owns: another node may write them later, and this
// one's client of the file system must not keep them until then.
TEST_F(FirstTouchTest, ForgetsAtItsEndWhatNobodyOwned) {
  Options options = small_options();
  options.bypass_bytes = page;
  options.openers = Openers::all;  // of several nodes
  std::vector<std::byte> bytes(4 * page, std::byte{1});
  for (const bool writes_first : {false, true}) {
    other_.reset();
    ASSERT_NO_FATAL_FAILURE(open(options, true));
    ASSERT_EQ(truncate(disk_.path().c_str(), (writes_first ? 8 : 4) * page), 0);
    const int64_t at = writes_first ? 4 * page : 0;
    if (writes_first) {
      ASSERT_TRUE(file_->write(at, bytes.data(), std::ssize(bytes)).ok());
    }
    int64_t moved = 0;
    ASSERT_TRUE(file_->read(at, bytes.data(), std::ssize(bytes), &moved).ok());
    EXPECT_EQ(file_->statistics().bypass_bytes, (writes_first ? 8 : 4) * page);
    (void)calls_.called();
    ASSERT_TRUE(file_->leave(false).ok());
    const std::vector<std::string> called = calls_.called();
    EXPECT_EQ(std::ranges::count(called, "refresh"), writes_first ? 0 : 1);
  }
}

TEST_F(JobFileTest, ReportsAnOwnerThatHasGone) {
  const std::byte byte{1};
  ASSERT_TRUE(file_->write(0, &byte, 1).ok());
  Owners nobody = owners();
  for (Address& agent : nobody.agents) agent.key[1] ^= 1;
  JobFile lost(*here_, nobody, 1, *terms());
  EXPECT_EQ(lost.write(0, &byte, 1).code, Code::network);
  EXPECT_TRUE(lost.write(page, &byte, 1).ok());  // this node's own
  EXPECT_TRUE(lost.leave(true).ok());
}

}  // namespace
}  // namespace forebay::agent
