// Pages that stay in the cache after the last close of their file, for its next open.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cache/cached_file.h"
#include "storage/posix.h"

namespace forebay::runtime {
namespace {

constexpr int64_t page_bytes = 4096;
constexpr int64_t pages_of_file = 8;

class KeptPages : public ::testing::Test {
 protected:
  KeptPages() {
    path_ = ::testing::TempDir() + "forebay-kept-XXXXXX";
    close(mkstemp(path_.data()));
    options_.page_size_bytes = page_bytes;
    options_.cache_size_bytes = 4 * pages_of_file * page_bytes;
    options_.step_aside = StepAside::never;
    options_.write_behind = false;
    options_.read_ahead_bytes = 0;
    options_.shards = 2;
  }
  ~KeptPages() override {
    unlink(path_.c_str());
    leave_node();
  }

  std::unique_ptr<CachedFile> open_file(OpenMode mode) { return open_file(mode, path_); }
  std::unique_ptr<CachedFile> open_file(OpenMode mode, const std::string& path) {
    Status status;
    auto file = CachedFile::open(path, mode, options_, &status, opener_);
    EXPECT_NE(file, nullptr) << describe(status.code);
    return file;
  }
  static void put(CachedFile& file, char letter, int64_t pages = pages_of_file) {
    const std::vector<std::byte> bytes(page_bytes, std::byte(letter));
    for (int64_t page = 0; page < pages; ++page)
      ASSERT_TRUE(file.write(page * page_bytes, bytes.data(), page_bytes).ok());
  }
  void write_and_close(char letter, const std::string& path, int64_t pages = pages_of_file) {
    const auto file = open_file(OpenMode::read_write, path);
    put(*file, letter, pages);
    ASSERT_TRUE(file->close(false).ok());
  }
  void write_and_close(char letter) { write_and_close(letter, path_); }
  // What all pages hold; or "" and a failure if they differ.
  static std::string letters(CachedFile& file) {
    std::string found;
    for (int64_t page = 0; page < pages_of_file; ++page) {
      std::vector<std::byte> bytes(page_bytes);
      int64_t moved = 0;
      EXPECT_TRUE(file.read(page * page_bytes, bytes.data(), page_bytes, &moved).ok());
      bytes.resize(static_cast<std::size_t>(moved));
      for (const std::byte byte : bytes) {
        const char letter = static_cast<char>(byte);
        if (found.empty() || found.back() != letter) found += letter;
      }
    }
    return found;
  }
  // What an open finds, and how many pages it has kept.
  std::pair<std::string, int64_t> look(OpenMode mode = OpenMode::read_only) {
    const auto file = open_file(mode);
    const std::string found = letters(*file);
    const Statistics statistics = file->statistics();
    const int64_t fetched = statistics.fetched_bytes;
    EXPECT_TRUE(statistics.kept_pages < pages_of_file || fetched == 0) << fetched;
    EXPECT_TRUE(file->close(false).ok());
    return {found, statistics.kept_pages};
  }
  static void write_behind_the_cache(const std::string& path, char letter, int64_t offset = 0) {
    const int descriptor = open(path.c_str(), O_WRONLY);
    ASSERT_EQ(pwrite(descriptor, &letter, 1, offset), 1);
    close(descriptor);
  }

  std::string path_;
  Options options_;
  StorageOpener opener_;
};

using Found = std::pair<std::string, int64_t>;

TEST_F(KeptPages, ServeTheNextOpen) {
  write_and_close('a');
  EXPECT_EQ(look(), Found("a", pages_of_file));
  EXPECT_EQ(look(OpenMode::read_write), Found("a", pages_of_file)) << "after a close that read";
  const auto file = open_file(OpenMode::read_write);
  const char letter = 'b';
  ASSERT_TRUE(file->write(0, reinterpret_cast<const std::byte*>(&letter), 1).ok());
  ASSERT_TRUE(file->close(false).ok());
  EXPECT_EQ(look(), Found("ba", pages_of_file)) << "after a close that wrote to kept pages";
}

TEST_F(KeptPages, ServeAllHandlesOfTheNextOpen) {
  write_and_close('a');
  const auto first = open_file(OpenMode::read_only);
  const auto second = open_file(OpenMode::read_only);
  EXPECT_EQ(letters(*second), "a");
  EXPECT_EQ(letters(*first), "a");
  EXPECT_EQ(first->statistics().kept_pages, pages_of_file);
  EXPECT_EQ(first->statistics().fetched_bytes + second->statistics().fetched_bytes, 0);
}

// Whichever handle is the last, it stays for the stamp.
TEST_F(KeptPages, StayWhenHandlesCloseAtOnce) {
  for (int round = 0; round < 100; ++round) {
    const auto first = open_file(OpenMode::read_write);
    const auto second = open_file(OpenMode::read_write);
    put(*first, static_cast<char>('a' + round % 26));
    std::thread other([&] { EXPECT_TRUE(second->close(false).ok()); });
    EXPECT_TRUE(first->close(false).ok());
    other.join();
    EXPECT_EQ(look(), Found(std::string(1, static_cast<char>('a' + round % 26)), pages_of_file));
  }
}

TEST_F(KeptPages, AreNotKeptByKeepNever) {
  options_.keep = Keep::never;
  write_and_close('a');
  options_.keep = Keep::job;
  EXPECT_EQ(look(), Found("a", 0));
  write_and_close('b');
  options_.keep = Keep::never;
  EXPECT_EQ(look(), Found("b", 0));
}

TEST_F(KeptPages, AreNotKeptIfOneHandleWantsNone) {
  const auto file = open_file(OpenMode::read_write);
  put(*file, 'a');
  options_.keep = Keep::never;
  EXPECT_TRUE(open_file(OpenMode::read_only)->close(false).ok());
  ASSERT_TRUE(file->close(false).ok());
  options_.keep = Keep::stat;
  EXPECT_EQ(look(), Found("a", 0));
}

TEST_F(KeptPages, AreNotKeptUnderDeterministic) {
  options_.deterministic = true;
  write_and_close('a');
  EXPECT_EQ(look(), Found("a", 0));
}

TEST_F(KeptPages, AreNotKeptIfTheCloseDiscards) {
  write_and_close('a');
  const auto file = open_file(OpenMode::read_write);
  put(*file, 'b');
  ASSERT_TRUE(file->close(true).ok());
  EXPECT_EQ(look(), Found("a", 0));
}

TEST_F(KeptPages, AreOfOneShapeOnly) {
  write_and_close('a');
  options_.page_size_bytes = 2 * page_bytes;
  EXPECT_EQ(look(), Found("a", 0));
  options_.page_size_bytes = page_bytes;
  EXPECT_EQ(look(), Found("a", 0)) << "the other arena's pages were dropped";
}

// What anybody may do to a closed file, and what its stamp shows.
struct Change {
  const char* name;
  std::function<void(const std::string& path)> make;
  std::string found;
};

std::vector<Change> changes() {
  const auto rewrite = [](const std::string& path, char letter) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    const std::string bytes(pages_of_file * page_bytes, letter);
    EXPECT_EQ(pwrite(descriptor, bytes.data(), bytes.size(), 0), std::ssize(bytes));
    close(descriptor);
  };
  const auto touch_back = [](const std::string& path, const struct stat& before) {
    const timespec times[] = {before.st_atim, before.st_mtim};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  };
  return {
      {"overwritten", [=](const auto& path) { rewrite(path, 'c'); }, "c"},
      {"times_set_back",
       [=](const auto& path) {
         struct stat before;
         ASSERT_EQ(stat(path.c_str(), &before), 0);
         rewrite(path, 'c');
         touch_back(path, before);
       },
       "c"},
      {"mapped",
       [](const auto& path) {
         const int descriptor = open(path.c_str(), O_RDWR);
         void* const memory =
             mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
         ASSERT_NE(memory, MAP_FAILED);
         static_cast<char*>(memory)[0] = 'c';
         EXPECT_EQ(msync(memory, page_bytes, MS_SYNC), 0);
         munmap(memory, page_bytes);
         close(descriptor);
       },
       "ca"},
      {"cut_and_extended",
       [](const auto& path) {
         EXPECT_EQ(truncate(path.c_str(), 0), 0);
         EXPECT_EQ(truncate(path.c_str(), pages_of_file * page_bytes), 0);
       },
       std::string(1, '\0')},
      {"longer", [](const auto& path) { EXPECT_EQ(truncate(path.c_str(), 1 << 20), 0); }, "a"},
      {"empty", [](const auto& path) { EXPECT_EQ(truncate(path.c_str(), 0), 0); }, ""},
      {"replaced",
       [=](const auto& path) {
         const std::string other = path + ".new";
         struct stat before;
         ASSERT_EQ(stat(path.c_str(), &before), 0);
         rewrite(other, 'c');
         touch_back(other, before);
         EXPECT_EQ(rename(other.c_str(), path.c_str()), 0);
       },
       "c"},
      {"removed_and_made",
       [=](const auto& path) {
         EXPECT_EQ(unlink(path.c_str()), 0);
         rewrite(path, 'c');
       },
       "c"},
  };
}

class KeptPagesChanged : public KeptPages, public ::testing::WithParamInterface<Change> {};

// Each change comes at once after the close: within a tick of the file system's clock.
TEST_P(KeptPagesChanged, AreNotUsed) {
  for (int round = 0; round < 20; ++round) {
    write_and_close('a');
    GetParam().make(path_);
    EXPECT_EQ(look(), Found(GetParam().found, 0));
    EXPECT_EQ(truncate(path_.c_str(), 0), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Changes, KeptPagesChanged, ::testing::ValuesIn(changes()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(KeptPages, AreNotUsedIfTheFileChangedWhileItWasOnlyRead) {
  write_and_close('a');
  const auto file = open_file(OpenMode::read_only);
  EXPECT_EQ(letters(*file), "a");
  write_behind_the_cache(path_, 'c');
  ASSERT_TRUE(file->close(false).ok());
  EXPECT_EQ(look(), Found("ca", 0));
}

TEST_F(KeptPages, AreNotUsedIfTheFileChangedAfterTheLastWrite) {
  const auto file = open_file(OpenMode::read_write);
  put(*file, 'a');
  ASSERT_TRUE(file->commit().ok());
  usleep(50'000);  // another tick of the file system's clock
  write_behind_the_cache(path_, 'c');
  ASSERT_TRUE(file->close(false).ok());
  EXPECT_EQ(look(), Found("ca", 0));
}

TEST_F(KeptPages, AreNotUsedOfAFileThatIsYoung) {
  write_behind_the_cache(path_, 'a', pages_of_file * page_bytes - 1);
  EXPECT_EQ(look(), Found(std::string("\0a", 2), 0));
  EXPECT_EQ(look(), Found(std::string("\0a", 2), 0)) << "another may have changed it since";
}

// A file system that ticks in seconds, or whose files belong to others, refuses the mark.
TEST_F(KeptPages, AreNotKeptWithoutAMark) {
  class Marks final : public SystemCalls {
   public:
    enum class Outcome { refused, rounded };
    explicit Marks(Outcome outcome) : outcome_(outcome) {}
    int set_modified_ns(int descriptor, int64_t modified_ns) override {
      errno = EPERM;
      constexpr int64_t second = 1'000'000'000;
      return outcome_ == Outcome::refused
                 ? -1
                 : SystemCalls::set_modified_ns(descriptor, modified_ns / second * second);
    }

   private:
    Outcome outcome_;
  };
  for (const auto outcome : {Marks::Outcome::refused, Marks::Outcome::rounded}) {
    Marks marks(outcome);
    opener_ = [&](bool readable, bool writable) {
      return open_posix_with(marks, path_, readable, writable);
    };
    write_and_close('a');
    EXPECT_EQ(look(), Found("a", 0));
  }
}

TEST_F(KeptPages, TheMarkMovesTheFilesTimeByLessThanAMillisecond) {
  struct stat before, after;
  const auto file = open_file(OpenMode::read_write);
  put(*file, 'a');
  ASSERT_TRUE(file->commit().ok());
  ASSERT_EQ(stat(path_.c_str(), &before), 0);
  ASSERT_TRUE(file->close(false).ok());
  ASSERT_EQ(stat(path_.c_str(), &after), 0);
  const int64_t later = (after.st_mtim.tv_sec - before.st_mtim.tv_sec) * 1'000'000'000 +
                        after.st_mtim.tv_nsec - before.st_mtim.tv_nsec;
  EXPECT_GT(later, 0);
  EXPECT_LT(later, 1'000'000);
}

// Kept pages leave before any page of an open file does.
TEST_F(KeptPages, AreAsGoodAsFreeFrames) {
  const std::string other = path_ + ".other";
  close(open(other.c_str(), O_CREAT | O_RDWR, 0600));
  write_and_close('a');
  const auto file = open_file(OpenMode::read_write, other);
  put(*file, 'o', 4 * pages_of_file);  // as many as the cache has
  EXPECT_EQ(file->statistics().evictions, 0);
  ASSERT_TRUE(file->close(false).ok());
  EXPECT_EQ(look(), Found("a", 0)) << "all frames were needed";
  unlink(other.c_str());
}

TEST_F(KeptPages, LeaveFromTheFileThatHasRestedLongest) {
  const std::string other = path_ + ".other", third = path_ + ".third";
  for (const std::string& path : {other, third}) close(open(path.c_str(), O_CREAT | O_RDWR, 0600));
  options_.shards = 1;
  write_and_close('a');
  EXPECT_EQ(look(), Found("a", pages_of_file));
  write_and_close('o', other);
  const auto file = open_file(OpenMode::read_write, third);
  put(*file, 't', 3 * pages_of_file);
  ASSERT_TRUE(file->close(false).ok());
  std::swap(path_, const_cast<std::string&>(other));
  EXPECT_EQ(look(), Found("o", pages_of_file));
  std::swap(path_, const_cast<std::string&>(other));
  EXPECT_EQ(look(), Found("a", 0));
  for (const std::string& path : {other, third}) unlink(path.c_str());
}

// A program that has reopened no file needs no more memory for its second file than for its first.
TEST_F(KeptPages, AreOfOneFileUntilTheyHaveServed) {
  const std::string other = path_ + ".other";
  close(open(other.c_str(), O_CREAT | O_RDWR, 0600));
  write_and_close('a');
  write_and_close('o', other);
  EXPECT_EQ(look(), Found("a", 0));
  unlink(other.c_str());
}

TEST_F(KeptPages, OfManyFilesAreBounded) {
  options_.cache_size_bytes = 1 << 20;
  std::vector<std::string> paths;
  for (int number = 0; number < 100; ++number) {
    paths.push_back(path_ + "." + std::to_string(number));
    close(open(paths.back().c_str(), O_CREAT | O_RDWR, 0600));
    write_and_close(static_cast<char>('a' + number % 26), paths.back(), 1);
    if (number == 0) {
      EXPECT_EQ(open_file(OpenMode::read_only, paths[0])->statistics().kept_pages, 1);
    }
  }
  int64_t kept = 0;
  for (int number = 99; number >= 0; --number) {
    const auto file = open_file(OpenMode::read_only, paths[static_cast<std::size_t>(number)]);
    EXPECT_EQ(letters(*file), std::string(1, static_cast<char>('a' + number % 26)));
    kept += file->statistics().kept_pages;
    ASSERT_TRUE(file->close(false).ok());
  }
  EXPECT_GT(kept, 0);
  EXPECT_LE(kept, 32);
  for (const std::string& path : paths) unlink(path.c_str());
}

// An open that fails in between leaves them as they were.
TEST_F(KeptPages, SurviveAnOpenThatFails) {
  write_and_close('a');
  Status status;
  const StorageOpener refuses = [](bool, bool) {
    return OpenedStorage{nullptr, {Code::io, 5, -1}};
  };
  EXPECT_EQ(CachedFile::open(path_, OpenMode::read_only, options_, &status, refuses), nullptr);
  EXPECT_EQ(look(), Found("a", pages_of_file));
}

}  // namespace
}  // namespace forebay::runtime
