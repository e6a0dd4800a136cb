// Pages that come from the caches of their owners, which have kept them or fetch them. The owner is
// this process, too: what its cache holds differs from what storage has been given since.
#include "agent/owners_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/file_terms.h"
#include "runtime/cache/cached_file.h"
#include "unit/temporary_file.h"

namespace forebay::agent {
namespace {

constexpr int64_t source_page = 4096;

// The letters of a text, and how often each comes: "a4096 b100".
std::string runs_of(const std::string& text) {
  std::string runs;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(text[at], at), text.size());
    runs += (runs.empty() ? "" : " ") + std::string(1, text[at]) + std::to_string(end - at);
    at = end;
  }
  return runs;
}

class OwnersSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(agent_.start());
    fill('a', 4 * source_page + 100);
    open(runtime::OpenMode::read_only);
  }
  void TearDown() override {
    if (source_ != nullptr) source_->leave();
    if (here_ != nullptr) {
      ASSERT_TRUE(here_->close(false).ok());
    }
  }
  // All of the file in storage.
  void fill(char content, int64_t bytes) const {
    std::ofstream(disk_.path(), std::ios::binary)
        << std::string(static_cast<std::size_t>(bytes), content);
  }
  void open(runtime::OpenMode mode) {
    Options options;
    options.scope = Scope::job;
    options.page_size_bytes = source_page;
    options.cache_size_bytes = int64_t{8} << 20;
    options.step_aside = StepAside::never;
    options.read_ahead_bytes = 0;
    Status status;
    here_ = runtime::CachedFile::open(disk_.path(), mode, options, &status);
    ASSERT_NE(here_, nullptr);
    FileTerms terms;
    terms.path = disk_.path();
    terms.options = options;
    Address agent = own_address();
    agent.port = agent_.port();
    agent.key = agent_.key();
    Address self = agent;
    self.key[0] ^= 1;
    // This node is the second of two: pages belong to them in turn.
    const Owners owners{FileDomains(0, source_page, 2), {agent, self}};
    terms.owners = owners.encoded();
    bool news = false;
    ASSERT_TRUE(here_->join_owners(owners.identity(), terms.owners, &news).ok());
    owners_ = owners;
    terms_ = std::make_shared<const FileTerms>(std::move(terms));
    make_source(true);
  }
  void make_source(bool kept) {
    if (source_ != nullptr) source_->leave();
    source_ = std::make_unique<OwnersSource>(*here_, owners_, 1, terms_, kept);
    if (kept) return;
    EXPECT_EQ(from_source(0, 1), "a1");  // what is read first needs nobody
    EXPECT_EQ(source_->questions(), 0);
  }
  void hold(int64_t bytes) {
    std::string read(static_cast<std::size_t>(bytes), ' ');
    int64_t moved = 0;
    ASSERT_TRUE(here_->read(0, reinterpret_cast<std::byte*>(read.data()), bytes, &moved).ok());
    ASSERT_EQ(moved, bytes);
  }
  // What the source has there, in pieces of 1000 bytes of memory.
  std::string from_source(int64_t offset, int64_t bytes) {
    std::string read(static_cast<std::size_t>(bytes), ' ');
    auto* const memory = reinterpret_cast<std::byte*>(read.data());
    std::vector<Segment> segments;
    for (int64_t at = 0; at < bytes; at += 1000)
      segments.push_back({memory + at, std::min<int64_t>(bytes - at, 1000)});
    const Request request{offset, segments};
    int64_t moved = 0;
    StorageCounters counters;
    EXPECT_TRUE(source_->read({&request, 1}, {&moved, 1}, counters).ok());
    return runs_of(read.substr(0, static_cast<std::size_t>(moved)));
  }

  const test::TemporaryFile disk_;
  Agent agent_;
  std::unique_ptr<runtime::CachedFile> here_;
  std::unique_ptr<OwnersSource> source_;
  Owners owners_;
  std::shared_ptr<const FileTerms> terms_;
};

TEST_F(OwnersSourceTest, AnOwnerIsAskedForItsPagesAndStorageForTheRest) {
  hold(4 * source_page);
  fill('b', 4 * source_page + 100);
  EXPECT_EQ(from_source(0, 4 * source_page), "a4096 b4096 a4096 b4096");
  EXPECT_EQ(source_->bytes(), 2 * source_page);
  EXPECT_EQ(from_source(source_page + 7, source_page), "b4089 a7");
}

TEST_F(OwnersSourceTest, EndsWhereTheFileEnds) {
  EXPECT_EQ(from_source(3 * source_page, 8 * source_page), "a4196");
  EXPECT_EQ(from_source(4 * source_page + 90, 100), "a10");
  EXPECT_EQ(from_source(5 * source_page, source_page), "");
  EXPECT_EQ(from_source(6 * source_page, source_page), "");
}

TEST_F(OwnersSourceTest, WhatAnOwnerHasLostComesFromStorageThroughTheOwner) {
  hold(source_page);
  fill('b', 4 * source_page + 100);
  EXPECT_EQ(from_source(0, 3 * source_page), "a4096 b8192");
  EXPECT_EQ(source_->bytes(), 2 * source_page);
}

TEST_F(OwnersSourceTest, AnOwnerThatHasLostMostIsAskedNoMore) {
  constexpr int64_t bytes = 4 << 20;
  fill('a', bytes);
  EXPECT_EQ(from_source(0, bytes), "a4194304");
  EXPECT_EQ(source_->bytes(), bytes / 2);
  hold(4 * source_page);
  fill('b', bytes);
  EXPECT_EQ(from_source(0, 4 * source_page), "b16384");
  EXPECT_EQ(source_->bytes(), bytes / 2);
}

// So that the next node to ask finds it there.
TEST_F(OwnersSourceTest, AnOwnerFetchesWhatItLacks) {
  make_source(false);
  EXPECT_EQ(from_source(0, 2 * source_page), "a8192");
  EXPECT_EQ(source_->held_bytes(), 0);
  fill('b', 4 * source_page + 100);
  EXPECT_EQ(from_source(0, 4 * source_page), "a4096 b12288");
  EXPECT_EQ(source_->held_bytes(), source_page);
  // One request for each of its own pages, and two to which the owner knew all the answer.
  EXPECT_EQ(source_->spared_requests(), 2 - 3);
}

TEST_F(OwnersSourceTest, WhereNodesReadPartsOfTheirOwnNobodyIsAskedAnyMore) {
  constexpr int64_t bytes = 4 << 20;
  fill('a', bytes);
  make_source(false);
  EXPECT_EQ(from_source(0, bytes), "a4194304");
  EXPECT_EQ(source_->questions(), 1);
  EXPECT_EQ(from_source(0, bytes), "a4194304");
  EXPECT_EQ(source_->questions(), 1);
  // And storage gets whole requests again.
  const int64_t spared = source_->spared_requests();
  EXPECT_EQ(from_source(source_page / 2, 4 * source_page), "a16384");
  EXPECT_EQ(source_->spared_requests(), spared);
}

TEST_F(OwnersSourceTest, ReadsPastPagesMayStayWithStorage) {
  hold(4 * source_page);
  fill('b', 4 * source_page + 100);
  here_->read_from(source_.get(), false);
  std::string read(4 * source_page, ' ');
  int64_t moved = 0;
  auto* const memory = reinterpret_cast<std::byte*>(read.data());
  ASSERT_TRUE(here_->bypass(false, {0, 4 * source_page}, memory, &moved).ok());
  EXPECT_EQ(runs_of(read), "b16384");
  EXPECT_EQ(source_->questions(), 0);
  here_->read_from(nullptr);
}

TEST_F(OwnersSourceTest, AnOwnerThatHasGoneIsAskedNoMore) {
  hold(4 * source_page);
  fill('b', 4 * source_page + 100);
  EXPECT_EQ(from_source(0, source_page), "a4096");
  agent_.~Agent();
  new (&agent_) Agent();
  EXPECT_EQ(from_source(0, 4 * source_page), "b16384");
  EXPECT_EQ(from_source(0, 4 * source_page), "b16384");
  EXPECT_EQ(source_->bytes(), source_page);
}

TEST_F(OwnersSourceTest, OnceSomebodyCanWriteStorageIsAsked) {
  hold(4 * source_page);
  fill('b', 4 * source_page + 100);
  here_->read_from(source_.get());
  Status status;
  const auto writer = runtime::CachedFile::open(disk_.path(), runtime::OpenMode::read_write,
                                                here_->options(), &status);
  ASSERT_NE(writer, nullptr);
  EXPECT_EQ(from_source(0, 2 * source_page), "b8192");
  ASSERT_TRUE(writer->close(false).ok());
  here_->read_from(nullptr);
}

// What the engine reads, into pages and past them, comes from there.
TEST_F(OwnersSourceTest, IsWhatAHandleReadsFrom) {
  hold(4 * source_page);
  fill('b', 4 * source_page + 100);
  here_->read_from(source_.get());
  std::string read(4 * source_page, ' ');
  int64_t moved = 0;
  auto* const memory = reinterpret_cast<std::byte*>(read.data());
  ASSERT_TRUE(here_->bypass(false, {0, 4 * source_page}, memory, &moved).ok());
  EXPECT_EQ(runs_of(read), "a4096 b4096 a4096 b4096");
  here_->read_from(nullptr);
  ASSERT_TRUE(here_->bypass(false, {0, 4 * source_page}, memory, &moved).ok());
  EXPECT_EQ(runs_of(read), "b16384");
}

// From the middle of a page to beyond the end of the file.
TEST_F(OwnersSourceTest, ReadsWhatIsHeldOfAnyPart) {
  hold(2 * source_page);
  fill('b', 4 * source_page + 100);
  std::string read(5 * source_page, ' ');
  auto* const memory = reinterpret_cast<std::byte*>(read.data());
  int64_t moved = 0, held = 0;
  ASSERT_TRUE(here_->read_held({10, 5 * source_page}, memory, &moved, &held).ok());
  EXPECT_EQ(moved, 4 * source_page + 90);
  EXPECT_EQ(held, 2 * source_page - 10);
  EXPECT_EQ(runs_of(read.substr(0, static_cast<std::size_t>(moved))), "a8182 b8292");
}

}  // namespace
}  // namespace forebay::agent
