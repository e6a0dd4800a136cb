// Trace files: what is written is read; of a damaged file the readable parts are read, and the rest
// is named.
#include "trace/container.h"

#include <gtest/gtest.h>

#include <random>

namespace forebay::trace {
namespace {

std::vector<Access> some_accesses(uint32_t count, int64_t start) {
  std::vector<Access> accesses(count);
  for (uint32_t i = 0; i < count; ++i) {
    accesses[i].position = int64_t{i} * 700;
    accesses[i].requested = accesses[i].transferred = 300;
    accesses[i].start_ns = start + 1000 * i;
    accesses[i].end_ns = accesses[i].completed_ns = accesses[i].start_ns + 200 + i % 7;
  }
  return accesses;
}

const ProcessInfo odd_process{{"rank", "3"}, {"host", "a node"}, {"empty", ""}};
const FileInfo odd_file{1, 9, 4, true, "/a path/of a file"};

const std::vector<Completion> completions{
    {7, 1'000'000, 0}, {8, 999'000, 12}, {3, 5, -1}, {0xffffffff, unknown_time, INT64_MAX}};

Bytes sample(bool ended) {
  Bytes bytes;
  Container container;
  Container::begin(bytes);
  container.process(odd_process, bytes);
  container.file(odd_file, bytes);
  container.view({1, {Layout::repeat(10, 64, Layout::block(16)), 128, 640}}, bytes);
  EXPECT_TRUE(container.accesses(some_accesses(100, 0), 0, Times::exact, bytes));
  EXPECT_TRUE(container.accesses(some_accesses(50, 1'000'000), 1, Times::histogram, bytes));
  container.completions(completions, bytes);
  if (ended) container.end({155, 5}, bytes);
  return bytes;
}

TEST(TraceContainer, WhatIsWrittenIsRead) {
  const Bytes bytes = sample(true);
  Content content;
  ASSERT_TRUE(read(bytes, content));
  EXPECT_TRUE(content.problems.empty()) << content.problems[0];
  EXPECT_EQ(content.process, odd_process);
  EXPECT_EQ(content.files, std::vector<FileInfo>{odd_file});
  ASSERT_EQ(content.views.size(), 1u);
  EXPECT_EQ(content.views[0].tiling.offset_of(16), 128 + 64);
  EXPECT_EQ(content.views[0].tiling.offset_of(160), 128 + 640);
  ASSERT_EQ(content.accesses.size(), 150u);
  EXPECT_EQ(content.accesses.at(99), some_accesses(100, 0)[99]);
  EXPECT_EQ(content.accesses.thread[100], 1u);
  EXPECT_EQ(content.completions, completions);
  EXPECT_EQ(content.folded, 50u);
  EXPECT_TRUE(content.ended);
  EXPECT_EQ(content.totals, (Totals{155, 5}));
}

TEST(TraceContainer, ManyAccessesTakeSeveralBlocks) {
  Bytes bytes;
  Container container;
  Container::begin(bytes);
  const std::vector<Access> accesses = some_accesses(2 * most_accesses + 1, 0);
  ASSERT_TRUE(container.accesses(accesses, 0, Times::exact, bytes));
  container.end({accesses.size(), 0}, bytes);
  Content content;
  ASSERT_TRUE(read(bytes, content));
  EXPECT_TRUE(content.problems.empty());
  ASSERT_EQ(content.accesses.size(), accesses.size());
  EXPECT_EQ(content.accesses.at(2 * most_accesses), accesses[2 * most_accesses]);
}

TEST(TraceContainer, EveryTruncationIsSaid) {
  const Bytes whole = sample(true);
  std::size_t most = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Content content;
    const bool good = read(ByteView(whole.data(), length), content);
    EXPECT_EQ(good, length >= 12);
    EXPECT_FALSE(content.problems.empty()) << length;
    EXPECT_FALSE(content.ended);
    EXPECT_GE(content.accesses.size(), most);  // a longer file has at least as many accesses
    most = content.accesses.size();
  }
  EXPECT_EQ(most, 150u);
}

TEST(TraceContainer, AProcessThatWasKilledLeavesWhatItHadWritten) {
  Content content;
  ASSERT_TRUE(read(sample(false), content));
  EXPECT_EQ(content.accesses.size(), 150u);
  EXPECT_EQ(content.totals.accesses, 150u);
  ASSERT_EQ(content.problems.size(), 1u);
  EXPECT_NE(content.problems[0].find("ends without an end"), std::string::npos);
}

TEST(TraceContainer, OneDamagedBlockCostsOneBlock) {
  Bytes bytes = sample(true);
  Bytes first;
  Container container;
  Container::begin(first);
  container.process(odd_process, first);
  bytes[first.size() + 40] ^= std::byte{1};  // within the block of the file record
  Content content;
  ASSERT_TRUE(read(bytes, content));
  EXPECT_TRUE(content.files.empty());
  EXPECT_EQ(content.accesses.size(), 150u);
  ASSERT_EQ(content.problems.size(), 2u);
  EXPECT_NE(content.problems[0].find("block 1 is damaged"), std::string::npos);
  EXPECT_NE(content.problems[1].find("block 1 is missing"), std::string::npos);
}

TEST(TraceContainer, AnyChangeIsFoundOut) {
  const Bytes good = sample(true);
  std::mt19937 random(1);
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= static_cast<std::byte>(1 + random() % 255);
    Content content;
    read(bad, content);
    EXPECT_FALSE(content.problems.empty()) << at;
  }
}

TEST(TraceContainer, StrangeFilesAreRefused) {
  const std::string text = "a line of a text file, longer than any head";
  Content content;
  EXPECT_FALSE(read(std::as_bytes(std::span(text)), content));
  Bytes newer = sample(true);
  newer[8] = std::byte{2};
  Content of_newer;
  EXPECT_FALSE(read(newer, of_newer));
  EXPECT_NE(of_newer.problems[0].find("version 2"), std::string::npos);
}

}  // namespace
}  // namespace forebay::trace
