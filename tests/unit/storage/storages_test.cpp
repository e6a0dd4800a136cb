// What every storage that opens files by path must do.
#include <gtest/gtest.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "storage/storage.h"
#include "unit/temporary_file.h"

namespace forebay {
namespace {

using test::TemporaryFile;

// A request with memory of its own, in segments.
class Buffer {
 public:
  Buffer(int64_t offset, const std::string& bytes, int64_t segment_bytes = INT64_MAX)
      : offset_(offset), bytes_(bytes.begin(), bytes.end()) {
    const auto length = static_cast<int64_t>(bytes_.size());
    for (int64_t at = 0; at < length; at += std::min(segment_bytes, length - at)) {
      auto* const memory = reinterpret_cast<std::byte*>(bytes_.data() + at);
      segments_.push_back({memory, std::min(segment_bytes, length - at)});
    }
  }
  static Buffer room(int64_t offset, int64_t bytes) {
    return {offset, std::string(static_cast<std::size_t>(bytes), '?')};
  }
  // Reverses the segments, so that no two are adjacent in memory in their order.
  void shuffle() { std::reverse(segments_.begin(), segments_.end()); }

  Request request() const { return {offset_, segments_}; }
  std::string bytes() const { return {bytes_.begin(), bytes_.end()}; }
  std::vector<Segment>& segments() { return segments_; }

 private:
  int64_t offset_;
  std::vector<char> bytes_;  // keeps its address when the buffer is moved
  std::vector<Segment> segments_;
};

std::string text(std::size_t length, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string out(length, ' ');
  for (char& byte : out) byte = static_cast<char>('a' + random() % 26);
  return out;
}

class EveryStorage : public testing::TestWithParam<StorageSpec> {
 protected:
  std::unique_ptr<Storage> open(const TemporaryFile& file, bool readable = true,
                                bool writable = true) {
    OpenedStorage opened = GetParam().open(file.path(), readable, writable);
    EXPECT_TRUE(opened.status.ok());
    return std::move(opened.storage);
  }
};

std::vector<StorageSpec> storages_opened_by_path() {
  std::vector<StorageSpec> out;
  for (const StorageSpec& spec : storages()) {
    if (spec.open != nullptr) out.push_back(spec);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Storages, EveryStorage, testing::ValuesIn(storages_opened_by_path()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_P(EveryStorage, ReadsWhatWasWritten) {
  const TemporaryFile file;
  const auto storage = open(file);
  Buffer out(5, "hello world", 3);
  StorageCounters written;
  ASSERT_TRUE(storage->write(std::vector{out.request()}, written).ok());
  EXPECT_EQ(written.requests, 1);
  EXPECT_EQ(file.content(), std::string(5, '\0') + "hello world");

  Buffer in = Buffer::room(5, 11);
  int64_t transferred = -1;
  StorageCounters read;
  ASSERT_TRUE(storage->read(std::vector{in.request()}, {&transferred, 1}, read).ok());
  EXPECT_EQ(transferred, 11);
  EXPECT_EQ(in.bytes(), "hello world");
  EXPECT_EQ(read.requests, 1);
}

TEST_P(EveryStorage, FillsHolesWithZeros) {
  const TemporaryFile file;
  const auto storage = open(file);
  Buffer first(0, "a");
  Buffer last(1 << 20, "z");
  StorageCounters counters;
  ASSERT_TRUE(storage->write(std::vector{first.request(), last.request()}, counters).ok());
  EXPECT_EQ(counters.requests, 2);
  Buffer in = Buffer::room(1000, 3);
  int64_t transferred = 0;
  ASSERT_TRUE(storage->read(std::vector{in.request()}, {&transferred, 1}, counters).ok());
  EXPECT_EQ(transferred, 3);
  EXPECT_EQ(in.bytes(), std::string(3, '\0'));
}

TEST_P(EveryStorage, SaysWhereTheFileEnds) {
  const TemporaryFile file("0123456789");
  const auto storage = open(file);
  Buffer inside = Buffer::room(0, 4);
  Buffer across = Buffer::room(8, 5);
  Buffer beyond = Buffer::room(20, 5);
  std::vector<int64_t> transferred(3, -1);
  StorageCounters counters;
  const std::vector requests{inside.request(), across.request(), beyond.request()};
  ASSERT_TRUE(storage->read(requests, transferred, counters).ok());
  EXPECT_EQ(transferred, (std::vector<int64_t>{4, 2, 0}));
  EXPECT_EQ(across.bytes(), "89???");
  int64_t size = 0;
  ASSERT_TRUE(storage->size(&size).ok());
  EXPECT_EQ(size, 10);
}

TEST_P(EveryStorage, TakesMoreSegmentsThanOneCall) {
  const TemporaryFile file;
  const auto storage = open(file);
  const std::string content = text(3 * IOV_MAX * 2, 1);
  Buffer out(7, content, 2);
  out.shuffle();
  StorageCounters counters;
  ASSERT_TRUE(storage->write(std::vector{out.request()}, counters).ok());
  EXPECT_EQ(counters.requests, 1);
  std::string expected(7, '\0');
  for (std::size_t i = content.size(); i > 0; i -= 2) expected += content.substr(i - 2, 2);
  EXPECT_EQ(file.content(), expected);
}

TEST_P(EveryStorage, EmptySegmentsAndRequestsAreNothing) {
  const TemporaryFile file("abc");
  const auto storage = open(file);
  Buffer out(1, "X");
  out.segments().insert(out.segments().begin(), {nullptr, 0});
  out.segments().push_back({nullptr, 0});
  const Buffer empty(9, "");
  StorageCounters counters;
  ASSERT_TRUE(storage->write(std::vector{out.request(), empty.request()}, counters).ok());
  ASSERT_TRUE(storage->write({}, counters).ok());
  EXPECT_EQ(file.content(), "aXc");
}

TEST_P(EveryStorage, CarriesManyLargeRequestsAtOnce) {
  const TemporaryFile file;
  const auto storage = open(file);
  std::vector<Buffer> buffers;
  std::vector<Request> requests;
  const std::size_t length = 300 << 10;
  for (int64_t i = 0; i < 12; ++i) {
    buffers.emplace_back(i * 2 * int64_t(length), text(i % 3 == 0 ? 10 : length, uint64_t(i)),
                         4096);
  }
  for (const Buffer& buffer : buffers) requests.push_back(buffer.request());
  StorageCounters counters;
  ASSERT_TRUE(storage->write(requests, counters).ok());
  EXPECT_EQ(counters.requests, 12);
  const std::string content = file.content();
  for (const Buffer& buffer : buffers) {
    const auto offset = static_cast<std::size_t>(buffer.request().offset);
    EXPECT_EQ(content.compare(offset, buffer.bytes().size(), buffer.bytes()), 0);
  }
  std::vector<int64_t> transferred(buffers.size());
  ASSERT_TRUE(storage->read(requests, transferred, counters).ok());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(transferred[i], int64_t(buffers[i].bytes().size()));
  }
}

TEST_P(EveryStorage, IsUsedByManyThreads) {
  const TemporaryFile file;
  const auto storage = open(file);
  constexpr int64_t block = 256 << 10;
  const auto work = [&](int64_t thread) {
    for (int64_t round = 0; round < 4; ++round) {
      std::vector<Buffer> buffers;
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t number = (thread * 4 + round) * 3 + i;
        buffers.emplace_back(number * block, std::string(block, char('a' + number)));
      }
      std::vector<Request> requests;
      for (const Buffer& buffer : buffers) requests.push_back(buffer.request());
      StorageCounters counters;
      EXPECT_TRUE(storage->write(requests, counters).ok());
    }
  };
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  const std::string content = file.content();
  ASSERT_EQ(content.size(), std::size_t(48 * block));
  for (std::size_t i = 0; i < content.size(); ++i) {
    ASSERT_EQ(content[i], char('a' + i / block)) << "at byte " << i;
  }
}

TEST_P(EveryStorage, RandomRequestsKeepTheFileEqualToAModel) {
  const TemporaryFile file;
  const auto storage = open(file);
  std::string model;
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<Buffer> buffers;
    auto offset = static_cast<int64_t>(random() % 5000);
    for (uint64_t i = 0; i < 1 + random() % 5; ++i) {
      const std::string bytes = text(1 + random() % 700, random());
      buffers.emplace_back(offset, bytes, 1 + int64_t(random() % 100));
      model.resize(std::max(model.size(), std::size_t(offset) + bytes.size()));
      model.replace(std::size_t(offset), bytes.size(), bytes);
      offset += int64_t(bytes.size()) + int64_t(random() % 50);
    }
    std::vector<Request> requests;
    for (const Buffer& buffer : buffers) requests.push_back(buffer.request());
    StorageCounters counters;
    ASSERT_TRUE(storage->write(requests, counters).ok());
    ASSERT_EQ(counters.requests, int64_t(requests.size()));
    ASSERT_TRUE(file.content() == model) << "in round " << round;
  }
  EXPECT_TRUE(storage->flush().ok());
}

TEST_P(EveryStorage, OpensWhatItMay) {
  const TemporaryFile file("abc");
  const auto reader = open(file, true, false);
  Buffer byte(0, "X");
  StorageCounters counters;
  EXPECT_FALSE(reader->write(std::vector{byte.request()}, counters).ok());
  const auto writer = open(file, false, true);
  EXPECT_TRUE(writer->write(std::vector{byte.request()}, counters).ok());
  EXPECT_EQ(file.content(), "Xbc");

  const OpenedStorage absent = GetParam().open(file.path() + ".absent", true, true);
  EXPECT_EQ(absent.storage, nullptr);
  EXPECT_EQ(absent.status.code, Code::no_such_file);
}

TEST(Storages, AreFoundByName) {
  for (const StorageSpec& spec : storages()) EXPECT_EQ(find_storage(spec.name), &spec);
  EXPECT_EQ(find_storage("no such storage"), nullptr);
}

}  // namespace
}  // namespace forebay
