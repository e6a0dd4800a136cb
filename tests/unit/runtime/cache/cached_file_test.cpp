// The runtime against a byte-array model: several handles on one file, every page kind, page sizes
// and capacities from one frame upwards; then threads and processes that share pages.

#include "runtime/cache/cached_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "page/page_kind.h"
#include "storage/fault.h"
#include "storage/posix.h"

namespace forebay::runtime {
namespace {

class TemporaryFile {
 public:
  TemporaryFile() {
    path_ = ::testing::TempDir() + "forebay-cached-XXXXXX";
    close(mkstemp(path_.data()));
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  std::vector<std::byte> content() const {
    struct stat info;
    stat(path_.c_str(), &info);
    std::vector<std::byte> bytes(static_cast<std::size_t>(info.st_size));
    const int descriptor = open(path_.c_str(), O_RDONLY);
    EXPECT_EQ(pread(descriptor, bytes.data(), bytes.size(), 0), info.st_size);
    close(descriptor);
    return bytes;
  }

 private:
  std::string path_;
};

struct Setting {
  std::string kind;
  int64_t page_size;
  int64_t capacity;
  int64_t bypass;
  int64_t local_bypass = 1 << 20;
};

void PrintTo(const Setting& s, std::ostream* out) {
  *out << s.kind << " page " << s.page_size << " capacity " << s.capacity << " bypass " << s.bypass
       << " local " << s.local_bypass;
}

Options options_for(const Setting& setting) {
  Options options;
  options.page_kind = setting.kind;
  options.page_size_bytes = setting.page_size;
  options.cache_size_bytes = setting.capacity;
  options.bypass_bytes = setting.bypass;
  options.local_bypass_bytes = setting.local_bypass;
  options.commit_size_bytes = 64 << 10;
  return options;
}

// Other values of the options that may change on an open file.
Options changed_options(Options options, unsigned int number) {
  options.bypass_bytes = number % 5 == 0 ? 1 : 1 << 20;
  options.read_ahead_bytes = number % 3 == 0 ? 0 : 64 << 10;
  options.predictor = number % 2 == 0 ? "sequential" : "signature";
  options.commit_size_bytes = number % 7 == 0 ? 512 : 64 << 10;
  options.dirty_bound = number % 4 == 0 ? 0.1 : 0.9;
  options.write_behind = number % 11 != 0;
  options.step_aside = static_cast<StepAside>(number % 3);
  return options;
}

TEST(CachedFile, IsOpenedAgainWhenItsNameHasGone) {
  const Options options;
  for (const bool replaced : {false, true}) {
    TemporaryFile disk;
    const std::string elsewhere = disk.path() + "-renamed";
    Status status;
    const auto again = [&](const std::string& path, uint64_t inode) {
      status = {Code::no_such_file, ESTALE, -1};
      return CachedFile::open_again(path, inode, OpenMode::read_write, options, &status);
    };
    auto file = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
    ASSERT_NE(file, nullptr);
    const uint64_t inode = file->identity().inode;
    ASSERT_EQ(rename(disk.path().c_str(), elsewhere.c_str()), 0);
    if (replaced) close(creat(disk.path().c_str(), 0600));
    const std::byte byte{'x'};
    for (const std::string& path : {disk.path(), elsewhere}) {
      auto other = again(path, inode);
      ASSERT_NE(other, nullptr) << describe(status.code);
      EXPECT_TRUE(status.ok());
      EXPECT_EQ(other->identity(), file->identity());
      EXPECT_TRUE(other->write(0, &byte, 1).ok());
      EXPECT_TRUE(other->close(false).ok());
    }
    // A file of another file system may have this inode, too.
    EXPECT_EQ(again("/proc/uptime", inode), nullptr);
    EXPECT_EQ(status.code, Code::no_such_file);
    EXPECT_EQ(again(disk.path(), inode + 1), nullptr);
    EXPECT_TRUE(file->close(false).ok());
    EXPECT_EQ(again(disk.path(), inode), nullptr);
    EXPECT_TRUE(!replaced || disk.content().empty());
    EXPECT_EQ(std::filesystem::file_size(elsewhere), 1);
    EXPECT_EQ(unlink(elsewhere.c_str()), 0);
  }
}

class CachedFileModel : public ::testing::TestWithParam<Setting> {};

TEST_P(CachedFileModel, AgreesWithByteArray) {
  constexpr int64_t most = 40'000;
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
    };
    TemporaryFile disk;
    Options options = options_for(GetParam());
    if (seed % 3 == 0) options.write_back_buffer = 0.4;
    std::vector<std::byte> model;
    Status status;
    std::unique_ptr<CachedFile> handles[2];
    for (auto& handle : handles) {
      handle = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
      ASSERT_NE(handle, nullptr) << describe(status.code);
    }
    std::vector<std::byte> buffer(most);
    int64_t run_at = 0, run_length = 0;  // reads one after the other, so that read-ahead begins
    for (int step = 0; step < 600; ++step) {
      CachedFile& file = *handles[below(2)];
      if (run_at + run_length > most || below(20) == 0) {
        run_at = below(most / 2);
        run_length = below(300) + 1;
      }
      const bool in_run = below(2) == 0 && run_at + run_length <= most;
      int64_t offset = below(most);
      int64_t length = below(10) == 0 ? below(most - offset + 1)
                                      : below(std::min<int64_t>(700, most - offset) + 1);
      switch (below(13)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4: {
          for (int64_t i = 0; i < length; ++i)
            buffer[static_cast<std::size_t>(i)] = std::byte(random());
          ASSERT_TRUE(file.write(offset, buffer.data(), length).ok());
          if (length > 0 && model.size() < static_cast<std::size_t>(offset + length)) {
            model.resize(static_cast<std::size_t>(offset + length));
          }
          std::copy_n(buffer.begin(), length, model.begin() + offset);
          break;
        }
        case 5:
        case 6:
        case 7:
        case 8: {
          int64_t got;
          if (in_run) {
            offset = run_at;
            length = run_length;
            run_at += run_length;
          }
          ASSERT_TRUE(file.read(offset, buffer.data(), length, &got).ok());
          const int64_t expected =
              std::clamp<int64_t>(static_cast<int64_t>(model.size()) - offset, 0, length);
          ASSERT_EQ(got, expected) << "seed " << seed << " step " << step << " offset " << offset
                                   << " length " << length << " size " << model.size();
          ASSERT_TRUE(std::equal(buffer.begin(), buffer.begin() + got,
                                 model.begin() + (got > 0 ? offset : 0)))
              << "seed " << seed << " step " << step << " offset " << offset << " length "
              << length;
          break;
        }
        case 9:
          ASSERT_TRUE(file.commit().ok());
          if (below(2) == 0) file.drop_clean();
          if (below(4) == 0) {
            ASSERT_EQ(disk.content(), model) << "seed " << seed << " step " << step;
          }
          break;
        case 10: {
          if (below(4) != 0) break;
          const int64_t size = below(most);
          file.truncate_cache(size);
          ASSERT_EQ(truncate(disk.path().c_str(), size), 0);
          file.truncate_cache(size);
          model.resize(static_cast<std::size_t>(size));
          break;
        }
        case 11: {
          int64_t size;
          ASSERT_TRUE(file.size(&size).ok());
          ASSERT_EQ(size, static_cast<int64_t>(model.size()))
              << "seed " << seed << " step " << step;
          if (below(6) == 0) {
            auto& handle = handles[below(2)];
            ASSERT_TRUE(handle->close(false).ok());
            handle = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
            ASSERT_NE(handle, nullptr);
          } else if (below(6) == 0) {
            const bool on = below(2) == 0;
            ASSERT_TRUE(file.set_write_through(on).ok());
          }
          break;
        }
        case 12:
          file.change_options(changed_options(file.options(), random()));
          break;
      }
    }
    for (auto& handle : handles) ASSERT_TRUE(handle->close(false).ok());
    ASSERT_EQ(disk.content(), model) << "seed " << seed;
  }
  leave_node();
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const PageKind* kind : page_kinds()) {
    for (const int64_t page : {512, 4096, 65536}) {
      for (const int64_t pages : {1, 3, 16, 400}) {
        all.push_back({std::string(kind->name()), page, page * pages, pages == 3 ? 3000 : 1 << 20,
                       pages == 16 ? 200 : 1 << 20});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Settings, CachedFileModel, ::testing::ValuesIn(settings()));

// A written delta page holds all bytes that storage had then, so no read has to fetch them.
TEST(CachedFileDelta, APartialWriteFillsItsPageFirst) {
  constexpr int64_t page = 4096;
  const auto opened = [](const TemporaryFile& disk, const std::string& kind) {
    Status status;
    Options options = options_for({kind, page, 16 * page, 1 << 20});
    options.step_aside = StepAside::never;
    return CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
  };
  const std::vector<std::byte> old(4 * page, std::byte{1}), behind(page, std::byte{2});
  const std::vector<std::byte> mine(page, std::byte{3});
  for (const bool delta : {true, false}) {
    TemporaryFile disk;
    const int descriptor = open(disk.path().c_str(), O_RDWR);
    ASSERT_EQ(pwrite(descriptor, old.data(), old.size(), 0), 4 * page);
    const auto file = opened(disk, delta ? "delta" : "mask");
    ASSERT_NE(file, nullptr);
    ASSERT_TRUE(file->write(2 * page, mine.data(), page).ok());
    EXPECT_EQ(file->statistics().fetched_bytes, 0) << "a whole page needs no filling";
    ASSERT_TRUE(file->write(page + 50, mine.data(), 100).ok());
    EXPECT_EQ(file->statistics().fetched_bytes, delta ? page : 0);
    EXPECT_EQ(file->statistics().read_requests, delta ? 1 : 0);
    // A write past the cache shows where each read gets its bytes.
    ASSERT_EQ(pwrite(descriptor, behind.data(), page, page), page);
    std::vector<std::byte> found(page);
    int64_t got;
    ASSERT_TRUE(file->read(page, found.data(), page, &got).ok());
    ASSERT_EQ(got, page);
    std::vector<std::byte> expected = delta ? std::vector(page, std::byte{1}) : behind;
    std::copy_n(mine.begin(), 100, expected.begin() + 50);
    EXPECT_EQ(found, expected);
    // Only the differences are written back.
    ASSERT_TRUE(file->close(false).ok());
    expected = behind;
    std::copy_n(mine.begin(), 100, expected.begin() + 50);
    ASSERT_EQ(pread(descriptor, found.data(), page, page), page);
    EXPECT_EQ(found, expected);
    close(descriptor);
  }
  leave_node();
}

std::byte expected_byte(int64_t offset) {
  return static_cast<std::byte>((offset * 2654435761u) >> 13);
}

// Rank `rank` of `ranks` writes every ranks-th record. Afterwards the bytes of all ranks must be in
// the file.
void write_interleaved(CachedFile& file, int rank, int ranks, int64_t record, int records) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(record));
  for (int i = 0; i < records; ++i) {
    const int64_t offset = (static_cast<int64_t>(i) * ranks + rank) * record;
    for (int64_t b = 0; b < record; ++b)
      buffer[static_cast<std::size_t>(b)] = expected_byte(offset + b);
    ASSERT_TRUE(file.write(offset, buffer.data(), record).ok());
    if (i % 1000 == 999) {
      ASSERT_TRUE(file.commit().ok());
    }
    if (i % 700 == 699)
      file.change_options(changed_options(file.options(), static_cast<unsigned int>(i)));
    int64_t got;
    std::vector<std::byte> back(buffer.size());
    ASSERT_TRUE(file.read(offset, back.data(), record, &got).ok());
    ASSERT_EQ(got, record);
    ASSERT_EQ(back, buffer) << "rank " << rank << " record " << i;
  }
}

void expect_pattern(const TemporaryFile& disk, int64_t bytes) {
  const std::vector<std::byte> content = disk.content();
  ASSERT_EQ(static_cast<int64_t>(content.size()), bytes);
  for (int64_t b = 0; b < bytes; ++b) {
    ASSERT_EQ(content[static_cast<std::size_t>(b)], expected_byte(b)) << "byte " << b;
  }
}

class CachedFileShared : public ::testing::TestWithParam<Setting> {};

// A large page of which storage lacks the middle: what is missing is fetched as two requests, for
// the bytes between would take longer than a request of its own.
TEST(CachedFileFetch, LeavesOutWhatThePageHas) {
  constexpr int64_t page = 1 << 20;
  TemporaryFile disk;
  Options options = options_for({"mask", page, 8 * page, 2 * page, 1});
  options.step_aside = StepAside::never;
  Status status;
  const auto file = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
  ASSERT_NE(file, nullptr) << describe(status.code);
  std::vector<std::byte> bytes(page, std::byte{1});
  ASSERT_TRUE(file->write(0, bytes.data(), page).ok());
  ASSERT_TRUE(file->commit().ok());
  file->drop_clean();
  const std::vector<std::byte> middle(page / 2, std::byte{2});
  ASSERT_TRUE(file->write(page / 4, middle.data(), page / 2).ok());
  int64_t moved = 0;
  ASSERT_TRUE(file->read(0, bytes.data(), page, &moved).ok());
  EXPECT_EQ(moved, page);
  EXPECT_EQ(bytes[0], std::byte{1});
  EXPECT_EQ(bytes[page / 2], std::byte{2});
  EXPECT_EQ(bytes[page - 1], std::byte{1});
  EXPECT_EQ(file->statistics().fetched_bytes, page / 2);
  EXPECT_EQ(file->statistics().read_requests, 2);
  EXPECT_TRUE(file->close(false).ok());
}

// Two handles of a file of pages of 4 KiB; the first byte of a page tells who wrote it.
class CachedFileClose : public ::testing::Test {
 protected:
  static constexpr int64_t page = 4096;

  void open_handles(CommitAtClose commits) {
    const StorageOpener opener = [this](bool readable, bool writable) {
      return open_posix_with(faults_, disk_.path(), readable, writable);
    };
    Options options = options_for({"mask", page, 64 * page, 1 << 20});
    options.write_behind = false;
    options.step_aside = StepAside::never;
    options.commit_at_close = commits;
    Status status;
    for (auto& handle : handles_) {
      handle = CachedFile::open(disk_.path(), OpenMode::read_write, options, &status, opener);
      ASSERT_NE(handle, nullptr) << describe(status.code);
    }
  }
  void write(int handle, int64_t offset) {
    const std::byte value{static_cast<unsigned char>(handle + 1)};
    ASSERT_TRUE(handles_[handle]->write(offset, &value, 1).ok());
  }
  // What storage has at the offset; 0: nothing.
  int stored(int64_t offset) const {
    const std::vector<std::byte> bytes = disk_.content();
    return offset < std::ssize(bytes) ? static_cast<int>(bytes[static_cast<std::size_t>(offset)])
                                      : 0;
  }

  TemporaryFile disk_;
  FaultInjector faults_;
  std::unique_ptr<CachedFile> handles_[2];
};

TEST_F(CachedFileClose, CommitsWhatItsHandleHasWritten) {
  open_handles(CommitAtClose::each);
  write(0, 0);
  write(1, 1);  // on the same page
  write(1, 3 * page);
  ASSERT_TRUE(handles_[0]->close(false).ok());
  EXPECT_EQ(stored(0), 1);
  EXPECT_EQ(stored(1), 2);
  EXPECT_EQ(stored(3 * page), 0);
  EXPECT_EQ(handles_[0]->statistics().write_requests, 1);
  ASSERT_TRUE(handles_[1]->close(false).ok());
  EXPECT_EQ(stored(3 * page), 2);
}

TEST_F(CachedFileClose, CommitsNothingWhereItsHandleWroteNothing) {
  open_handles(CommitAtClose::each);
  write(1, 0);
  ASSERT_TRUE(handles_[0]->close(false).ok());
  EXPECT_EQ(handles_[0]->statistics().write_requests, 0);
  EXPECT_EQ(stored(0), 0);
  ASSERT_TRUE(handles_[1]->close(false).ok());
  EXPECT_EQ(stored(0), 2);
}

TEST_F(CachedFileClose, CommitsForAllThatWriteUnderOneNumber) {
  open_handles(CommitAtClose::each);
  for (auto& handle : handles_) handle->write_as(7);
  write(0, 0);
  write(1, 3 * page);
  ASSERT_TRUE(handles_[0]->close(false).ok());
  EXPECT_EQ(stored(3 * page), 2);
  ASSERT_TRUE(handles_[1]->close(false).ok());
}

TEST_F(CachedFileClose, OfTheLastHandleCommitsWhatOthersDiscarded) {
  open_handles(CommitAtClose::each);
  write(0, 0);
  ASSERT_TRUE(handles_[0]->close(true).ok());
  EXPECT_EQ(stored(0), 0);
  ASSERT_TRUE(handles_[1]->close(false).ok());
  EXPECT_EQ(stored(0), 1);
}

TEST_F(CachedFileClose, LeavesTheCommitToTheLastHandle) {
  open_handles(CommitAtClose::last);
  write(0, 0);
  faults_.fail_from(Call::pwritev, 1, ENOSPC);
  ASSERT_TRUE(handles_[0]->close(false).ok());
  EXPECT_EQ(faults_.calls(Call::pwritev), 0);
  const Status status = handles_[1]->close(false);
  EXPECT_EQ(status.code, Code::no_space);
  faults_.heal();
  open_handles(CommitAtClose::last);
  for (auto& handle : handles_) ASSERT_TRUE(handle->close(false).ok());
  EXPECT_EQ(stored(0), 1);
}

TEST_F(CachedFileClose, LeavesTheEndOfWhatItLeavesToOthers) {
  open_handles(CommitAtClose::last);
  write(0, 5000);
  ASSERT_TRUE(handles_[0]->close(false).ok());
  EXPECT_EQ(stored(5000), 0);
  int64_t bytes = 0;
  ASSERT_TRUE(handles_[1]->size(&bytes).ok());
  EXPECT_EQ(bytes, 5001);
  ASSERT_TRUE(handles_[1]->close(false).ok());
  EXPECT_EQ(stored(5000), 1);
}

TEST(CachedFileOptions, ChangeOnAnOpenFile) {
  TemporaryFile disk;
  Status status;
  Options options;
  options.step_aside = StepAside::never;
  auto file = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
  ASSERT_NE(file, nullptr);
  const std::vector<std::byte> record(300, std::byte{7});
  const auto write = [&](int64_t offset) {
    ASSERT_TRUE(file->write(offset, record.data(), static_cast<int64_t>(record.size())).ok());
  };
  write(0);
  EXPECT_EQ(file->statistics().bypass_calls, 0);
  Options changed = file->options();
  changed.bypass_bytes = 300;
  changed.policy = "arc";  // fixed at the open
  file->change_options(changed);
  EXPECT_EQ(file->options().bypass_bytes, 300);
  EXPECT_EQ(file->options().policy, "lru");
  write(1 << 20);
  EXPECT_EQ(file->statistics().bypass_calls, 1);
  changed.bypass_bytes = 1 << 20;
  changed.step_aside = StepAside::always;
  file->change_options(changed);
  write(2 << 20);
  EXPECT_EQ(file->statistics().aside_calls, 1);
  ASSERT_TRUE(file->close(false).ok());
  leave_node();
}

// By chance some of the points have a rule, for a moment.
// An agent does not know how many ranks its node has, and may be the first to open a file there.
TEST(CachedFileOptions, AnAgentGivesAFileTheCacheThatRanksGive) {
  leave_node();
  TemporaryFile disk, other;
  Options ranks;
  ranks.cache_size_bytes = 1 << 20;
  ranks.local_processes = 4;
  ranks.keep = Keep::never;
  Options agents = ranks;
  agents.local_processes = 1;
  agents.openers = Openers::agent;
  Status status;
  const auto before = CachedFile::open(other.path(), OpenMode::read_write, ranks, &status);
  ASSERT_NE(before, nullptr);
  const int64_t memory = highest_memory(Scope::node);
  const auto of_agent = CachedFile::open(disk.path(), OpenMode::read_write, agents, &status);
  ASSERT_NE(of_agent, nullptr);
  EXPECT_EQ(of_agent->options().cache_size_bytes, ranks.cache_size_bytes);
  const auto of_rank = CachedFile::open(disk.path(), OpenMode::read_write, ranks, &status);
  ASSERT_NE(of_rank, nullptr);
  EXPECT_EQ(of_rank->options().cache_size_bytes, ranks.cache_size_bytes);
  EXPECT_EQ(of_rank->wanted_cache_size(), ranks.cache_size_bytes);
  EXPECT_EQ(highest_memory(Scope::node), memory) << "a second arena";
  for (const auto& file : {before.get(), of_agent.get(), of_rank.get()})
    EXPECT_TRUE(file->close(false).ok());
  leave_node();
}

TEST(CachedFileAhead, AsksForThePagesOfScatteredPointsOnce) {
  constexpr int64_t point = 4, points = 20'000;
  TemporaryFile disk;
  Options options = options_for({"mask", 4096, 16 << 20, 1 << 20});
  options.deterministic = true;  // fetches ahead at once
  Status status;
  const auto file = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
  ASSERT_NE(file, nullptr);
  const std::vector<std::byte> all(2 * point * points);
  ASSERT_TRUE(file->write(0, all.data(), std::ssize(all)).ok());
  std::mt19937 random(1);
  for (int64_t i = 0; i < points; ++i) {
    const int64_t at = (2 * i + static_cast<int64_t>(random() % 2)) * point;
    std::byte bytes[point];
    int64_t got = 0;
    ASSERT_TRUE(file->read(at, bytes, point, &got).ok());
  }
  // The pages behind the file's end have no bytes, and no place in the cache.
  constexpr int64_t window_pages = (64 << 10) / 4096;
  EXPECT_LE(file->statistics().read_requests, 2 * window_pages);
  ASSERT_TRUE(file->close(true).ok());
}

// Others make the file longer while a step of a deterministic handle is under way.
TEST(CachedFileSteps, SeeTheSizeThatIsNotedWithThem) {
  TemporaryFile disk;
  std::ofstream(disk.path(), std::ios::binary) << std::string(100, 'x');
  Options options = options_for({"mask", 4096, 1 << 20, 1 << 20});
  options.deterministic = true;
  Status status;
  NumberedSteps::begin();
  const auto file = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
  ASSERT_NE(file, nullptr);
  std::array<std::byte, 200> bytes{};
  int64_t got = 0;
  const auto read = [&](int64_t offset, bool past) {
    return past ? file->bypass(false, {offset, 200}, bytes.data(), &got)
                : file->read(offset, bytes.data(), 200, &got);
  };
  for (const bool past : {false, true}) {
    const CachedFile::PartTurn turn(*file, {false, false, nullptr, 0, 200}, past);
    std::ofstream(disk.path(), std::ios::app) << std::string(50, 'y');
    ASSERT_TRUE(read(0, past).ok());
    EXPECT_EQ(got, past ? 150 : 100);
  }
  int64_t size = 0;
  ASSERT_TRUE(file->size(&size).ok());
  EXPECT_EQ(size, 200);
  ASSERT_TRUE(file->close(false).ok());
  std::vector<int64_t> sizes;
  for (const NumberedStep& step : NumberedSteps::end())
    if (step.step == CacheStep::resize) sizes.push_back(step.argument);
  EXPECT_EQ(sizes, (std::vector<int64_t>{100, 150}));
  leave_node();
}

TEST(Notices, AreGivenToTheFirstWhoAsksOnANode) {
  Status status;
  NodeMember* const here = node({}, &status);
  ASSERT_NE(here, nullptr);
  EXPECT_TRUE(first_notice(*here, 17));
  EXPECT_FALSE(first_notice(*here, 17));
  int firsts = 1;
  for (uint64_t number = 18; number < 1000; ++number) firsts += first_notice(*here, number) ? 1 : 0;
  EXPECT_EQ(firsts, 64);
  EXPECT_FALSE(first_notice(*here, 17));
  leave_node();
}

TEST_P(CachedFileShared, ThreadsLoseNoByte) {
  constexpr int threads = 4, records = 3000;
  constexpr int64_t record = 37;
  TemporaryFile disk;
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      Status status;
      Options options = options_for(GetParam());
      // Past the cache, between the bytes of other threads.
      if (t % 2 == 1) options.local_bypass_bytes = 1;
      auto file = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
      ASSERT_NE(file, nullptr);
      write_interleaved(*file, t, threads, record, records);
      ASSERT_TRUE(file->close(false).ok());
    });
  }
  for (std::thread& thread : team) thread.join();
  expect_pattern(disk, threads * records * record);
  leave_node();
}

TEST_P(CachedFileShared, ProcessesLoseNoByte) {
  constexpr int processes = 3, records = 3000;
  constexpr int64_t record = 53;
  TemporaryFile disk;
  Options options = options_for(GetParam());
  options.job = "test-" + std::to_string(getpid());
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      Status status;
      if (p == 1) options.local_bypass_bytes = 1;
      auto file = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
      if (file == nullptr) _exit(2);
      write_interleaved(*file, p, processes, record, records);
      if (!file->close(false).ok()) _exit(3);
      leave_node();
      _exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  expect_pattern(disk, processes * records * record);
}

std::vector<Setting> shared_settings() {
  std::vector<Setting> all;
  for (const PageKind* kind : page_kinds()) {
    for (const int64_t pages : {2, 16, 400}) {
      all.push_back({std::string(kind->name()), 4096, 4096 * pages, 1 << 20});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Settings, CachedFileShared, ::testing::ValuesIn(shared_settings()));

// Accesses past the cache beside a neighbour's dirty bytes must neither commit nor hide these.
TEST(CachedFileLocally, BypassesBesideDirtyBytesOfThePage) {
  constexpr int64_t small = 300, large = 10'000;
  constexpr int first = 4, records = 9;  // a handle's first few accesses go past the cache
  TemporaryFile disk;
  Status status;
  auto neighbour = CachedFile::open(disk.path(), OpenMode::read_write, {}, &status);
  auto file = CachedFile::open(disk.path(), OpenMode::read_write, {}, &status);
  ASSERT_TRUE(neighbour != nullptr && file != nullptr);
  std::vector<std::byte> expected, got(large);
  for (int record = 0; record < records; ++record) {
    for (const int64_t length : {small, large}) {
      const auto offset = static_cast<int64_t>(expected.size());
      for (int64_t b = 0; b < length; ++b) expected.push_back(expected_byte(offset + b));
      CachedFile& writer = length == small ? *neighbour : *file;
      ASSERT_TRUE(writer.write(offset, expected.data() + offset, length).ok());
    }
  }
  EXPECT_EQ(file->statistics().aside_calls, records);
  EXPECT_EQ(file->statistics().committed_bytes, 0);
  EXPECT_EQ(neighbour->statistics().aside_calls, first);
  for (int64_t offset = 0; offset < static_cast<int64_t>(expected.size());
       offset += small + large) {
    int64_t bytes = 0;
    ASSERT_TRUE(file->read(offset + small, got.data(), large, &bytes).ok());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin() + offset + small));
    // Some bytes cached, some not.
    ASSERT_TRUE(file->read(offset + 1, got.data(), large, &bytes).ok());
    EXPECT_TRUE(std::equal(got.begin(), got.begin() + bytes, expected.begin() + offset + 1));
  }
  // A write to bytes that the cache holds goes to the cache, so that writes keep their order.
  std::fill(got.begin(), got.end(), std::byte{7});
  constexpr int64_t held = first * (small + large);
  const int64_t aside = file->statistics().aside_calls;
  ASSERT_TRUE(file->write(held, got.data(), large).ok());
  std::copy(got.begin(), got.end(), expected.begin() + held);
  EXPECT_EQ(file->statistics().aside_calls, aside);
  EXPECT_EQ(file->statistics().committed_bytes, 0);
  ASSERT_TRUE(neighbour->close(false).ok());
  ASSERT_TRUE(file->close(false).ok());
  EXPECT_EQ(disk.content(), expected);
  leave_node();
}

// Scattered points, read through one view from a file that nobody has read: no rule foretells them,
// but they lie near each other.
TEST(CachedFilePoints, AreFetchedByPages) {
  constexpr int64_t point = 4, points = 50'000, spacing = 12;
  constexpr int64_t spread_bytes = points * spacing;
  std::mt19937 random(1);
  TemporaryFile disk;
  std::vector<std::byte> content(spread_bytes);
  for (int64_t b = 0; b < spread_bytes; ++b)
    content[static_cast<std::size_t>(b)] = expected_byte(b);
  const int descriptor = open(disk.path().c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(descriptor, content.data(), content.size(), 0), spread_bytes);
  close(descriptor);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < points; ++i)
    places.push_back(i * spacing / point + static_cast<int64_t>(random() % (spacing / point)));
  for (int64_t& place : places) place *= point;
  const Tiling view{
      Layout::indexed(places, std::vector<int64_t>(places.size(), 1), point, Layout::block(point)),
      0, spread_bytes};

  Options options;
  options.step_aside = StepAside::never;
  Status status;
  auto file = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
  ASSERT_NE(file, nullptr);
  std::vector<std::byte> got(points * point);
  for (int reads = 0; reads < 3; ++reads) {
    std::fill(got.begin(), got.end(), std::byte{});
    int64_t bytes = 0;
    ASSERT_TRUE(file->access({.view = &view, .bytes = points * point}, got.data(), &bytes).ok());
    EXPECT_EQ(bytes, points * point);
    for (int64_t i = 0; i < points; ++i) {
      for (int64_t b = 0; b < point; ++b)
        ASSERT_EQ(got[static_cast<std::size_t>(i * point + b)],
                  expected_byte(places[static_cast<std::size_t>(i)] + b));
    }
  }
  EXPECT_EQ(file->statistics().read_bytes, 3 * points * point);
  EXPECT_LE(file->statistics().read_requests, spread_bytes / options.page_size_bytes + 1);
  ASSERT_TRUE(file->close(false).ok());
  leave_node();
}

TEST(CachedFileLocally, BypassesNothingWhereItMayNotStepAside) {
  TemporaryFile disk;
  Status status;
  Options options;
  options.step_aside = StepAside::never;
  auto file = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
  ASSERT_NE(file, nullptr);
  const std::vector<std::byte> record(100'000);
  ASSERT_TRUE(file->write(0, record.data(), std::ssize(record)).ok());
  EXPECT_EQ(file->statistics().aside_calls, 0);
  EXPECT_EQ(file->statistics().bypass_calls, 0);
  ASSERT_TRUE(file->close(false).ok());
  leave_node();
}

}  // namespace
}  // namespace forebay::runtime
