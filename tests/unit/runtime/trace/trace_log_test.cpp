// Threads record into a file: afterwards everything is in it, in order, or counted as lost.
#include "runtime/trace/trace_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "runtime/node/clock.h"

namespace forebay::runtime {
namespace {

namespace fs = std::filesystem;

class Told final : public Notices {
 public:
  void not_traced(const std::string& path, int error) override {
    not_traced_path = path;
    not_traced_error = error;
  }
  void trace_lacks(const std::string&, uint64_t accesses, int error) override {
    lacking = accesses;
    lacking_error = error;
  }

  std::string not_traced_path;
  int not_traced_error = 0;
  uint64_t lacking = 0;
  int lacking_error = 0;
};

class TraceLogFile : public ::testing::Test {
 protected:
  TraceLogFile() : folder_(fs::temp_directory_path() / ("trace-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
  }
  ~TraceLogFile() override {
    end_trace();
    fs::remove_all(folder_);
  }

  bool start(trace::Times times = trace::Times::exact, int64_t limit_bytes = 0) {
    return start_trace({folder_.string(), times, limit_bytes, {{"rank", "4"}}, true, &told_});
  }
  trace::Content content() {
    const fs::directory_iterator files(folder_);
    if (files == fs::directory_iterator()) return {};
    const fs::path file = *files;
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    trace::Content content;
    EXPECT_TRUE(text.empty() || trace::read(std::as_bytes(std::span(text)), content));
    return content;
  }
  static void record(uint32_t file, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      trace::Access access;
      access.start_ns = trace_ticks();
      access.file = file;
      access.position = i;
      access.requested = access.transferred = 8;
      access.end_ns = access.completed_ns = trace_ticks();
      trace_access(access);
    }
  }

  fs::path folder_;
  static inline Told told_;
};

// Each in a thread that has nothing else to record.
TEST_F(TraceLogFile, CompletionsAreToldApart) {
  for (const trace::Times times : {trace::Times::exact, trace::Times::histogram}) {
    ASSERT_TRUE(start(times));
    for (uint32_t i = 1; i <= 3; ++i) {
      trace::Access access;
      access.start_ns = access.end_ns = trace_ticks();
      access.completed_ns = trace::unknown_time;
      access.request = i;
      trace_access(access);
    }
    std::thread([] {
      trace_completion({1, trace_ticks(), 0});
      trace_completion({3, trace_ticks(), 5});
    }).join();
    end_trace();
    const trace::Content found = content();
    EXPECT_TRUE(found.problems.empty());
    EXPECT_EQ(found.totals, (trace::Totals{3, 0}));
    EXPECT_EQ(found.accesses.request, (std::vector<uint32_t>{1, 2, 3}));
    const bool exact = times == trace::Times::exact;
    ASSERT_EQ(found.completions.size(), exact ? 2u : 1u);
    EXPECT_EQ(found.completions.back().request, 3u);
    EXPECT_EQ(found.completions.back().shortfall, 5);
    if (exact) {
      EXPECT_EQ(found.completions[0].request, 1u);
      EXPECT_GE(found.completions[0].completed_ns, found.accesses.end_ns[2]);
      EXPECT_GE(found.completions[1].completed_ns, found.completions[0].completed_ns);
      EXPECT_LT(found.completions[1].completed_ns, int64_t{60} * 1'000'000'000);
    }
    fs::remove_all(folder_);
  }
}

TEST_F(TraceLogFile, ThreadsKeepTheirOrder) {
  constexpr int threads = 4;
  constexpr int64_t rounds = 40, calls = 500;
  const int64_t before = now_ns();
  ASSERT_TRUE(start());
  EXPECT_EQ(trace_file({0, 9, 2, true, "/some/file"}), 0u);
  EXPECT_EQ(trace_view({Layout::block(8), 0, 8}), 0u);
  const Tiling strided{Layout::block(8), 16, 32};
  EXPECT_EQ(trace_view(strided), 1u);
  EXPECT_EQ(trace_view(strided), 1u);
  std::vector<std::thread> all;
  for (uint32_t t = 0; t < threads; ++t) {
    all.emplace_back([t] {
      for (int64_t round = 0; round < rounds; ++round) {
        record(t, round * calls, calls);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that the helper keeps up
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  end_trace();
  const int64_t passed = now_ns() - before;
  const trace::Content found = content();
  EXPECT_TRUE(found.problems.empty()) << found.problems[0];
  EXPECT_TRUE(found.ended);
  EXPECT_EQ(found.process.at("rank"), "4");
  ASSERT_EQ(found.files.size(), 1u);
  EXPECT_EQ(found.files[0].path, "/some/file");
  ASSERT_EQ(found.views.size(), 1u);
  EXPECT_EQ(found.views[0].tiling.offset_of(8), 48);
  EXPECT_EQ(found.totals.accesses, uint64_t{threads} * rounds * calls);
  EXPECT_EQ(found.accesses.size() + found.totals.lost, found.totals.accesses);
  std::vector<int64_t> next(threads, 0), time(threads, 0);
  for (std::size_t i = 0; i < found.accesses.size(); ++i) {
    const trace::Access access = found.accesses.at(i);
    ASSERT_LT(access.file, uint32_t{threads});
    if (found.totals.lost == 0) {
      ASSERT_EQ(access.position, next[access.file]);
    }
    ASSERT_GE(access.position, next[access.file]);
    next[access.file] = access.position + 1;
    ASSERT_GE(access.start_ns, time[access.file]);
    ASSERT_GE(access.end_ns, access.start_ns);
    ASSERT_EQ(access.completed_ns, access.end_ns);
    time[access.file] = access.end_ns;
    ASSERT_LE(access.end_ns, passed);
  }
}

TEST_F(TraceLogFile, WhatTheHelperCannotTakeIsCounted) {
  ASSERT_TRUE(start());
  constexpr int64_t calls = 3'000'000;
  record(0, 0, calls);
  end_trace();
  const trace::Content found = content();
  EXPECT_TRUE(found.problems.empty());
  EXPECT_EQ(found.totals.accesses, uint64_t{calls});
  EXPECT_EQ(found.accesses.size() + found.totals.lost, uint64_t{calls});
  EXPECT_GT(found.accesses.size(), 10'000u);
}

TEST_F(TraceLogFile, BeyondItsLimitTimesAreFolded) {
  constexpr int64_t limit = 20'000, calls = 1000;
  constexpr int most_rounds = 5000;
  ASSERT_TRUE(start(trace::Times::exact, limit));
  const fs::path file = *fs::directory_iterator(folder_);
  int64_t first = 0;
  const auto round = [&] {
    record(0, first, calls);
    first += calls;
    flush_trace();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  // The helper writes when it gets a processor.
  while (static_cast<int64_t>(fs::file_size(file)) <= limit && first < most_rounds * calls) round();
  const auto exact = static_cast<int64_t>(fs::file_size(file));
  ASSERT_GT(exact, limit);
  for (int more = 0; more < 20; ++more) round();
  end_trace();
  const trace::Content found = content();
  EXPECT_EQ(static_cast<int64_t>(found.accesses.size() + found.totals.lost), first);
  EXPECT_GT(found.folded, 0u);
  EXPECT_LT(found.folded, found.accesses.size());
  EXPECT_LT(static_cast<int64_t>(fs::file_size(file)), exact + limit);
}

TEST_F(TraceLogFile, AForkedChildRecordsNothing) {
  ASSERT_TRUE(start());
  record(0, 0, 10);
  const pid_t child = fork();
  if (child == 0) _exit(tracing.load() ? 1 : 0);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  end_trace();
  EXPECT_EQ(content().accesses.size(), 10u);
}

TEST_F(TraceLogFile, AProcessThatIsKilledLeavesWhatWasFlushed) {
  const pid_t child = fork();
  if (child == 0) {
    start();
    record(0, 0, 5000);
    flush_trace();
    record(0, 5000, 10);
    for (;;) pause();
  }
  for (int wait = 0; wait < 6000 && (!fs::exists(folder_) || content().accesses.size() < 5000);
       ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  const trace::Content found = content();
  EXPECT_FALSE(found.ended);
  EXPECT_EQ(found.accesses.size(), 5000u);
}

// The helper collects whole chunks for larger blocks, but does not wait for ever.
TEST_F(TraceLogFile, WholeChunksAreWrittenSoon) {
  ASSERT_TRUE(start());
  record(0, 0, 2 * 2048);
  for (int wait = 0; wait < 6000 && content().accesses.size() < 2 * 2048; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(content().accesses.size(), 2u * 2048);
}

TEST_F(TraceLogFile, ALinkInItsPlaceIsNotFollowed) {
  fs::create_directory(folder_);
  const fs::path target = folder_.string() + "-target";
  const fs::path link = folder_ / ("4-" + std::to_string(getpid()) + ".trace");
  fs::create_symlink(target, link);
  EXPECT_FALSE(start());
  EXPECT_EQ(told_.not_traced_path, link);
  EXPECT_EQ(told_.not_traced_error, EEXIST);
  EXPECT_FALSE(fs::exists(target));
  EXPECT_FALSE(tracing.load());
}

// Beyond the largest size of a file that the process may write.
TEST_F(TraceLogFile, WhatIsNotWrittenIsTold) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{1000, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  ASSERT_TRUE(start());
  record(0, 0, 5000);
  end_trace();
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_GT(told_.lacking, 0u);
  EXPECT_LE(told_.lacking, 5000u);
  EXPECT_EQ(told_.lacking_error, EFBIG);
}

}  // namespace
}  // namespace forebay::runtime
