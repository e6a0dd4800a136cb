// Blocks of accesses: decoding returns what was encoded; damaged blocks are refused; blocks are
// small.
#include "trace/access_block.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "trace/durations.h"

namespace forebay::trace {
namespace {

std::vector<Access> decoded(const Bytes& bytes, uint32_t count) {
  BlockDecoder decoder;
  Accesses accesses;
  const std::string problem = decoder.decode(bytes, count, 7, accesses);
  EXPECT_EQ(problem, "");
  std::vector<Access> all;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    EXPECT_EQ(accesses.thread[i], 7u);
    all.push_back(accesses.at(i));
  }
  return all;
}

Bytes encoded(const std::vector<Access>& accesses, Times times = Times::exact) {
  BlockEncoder encoder;
  Bytes bytes;
  EXPECT_TRUE(encoder.encode(accesses, times, bytes));
  return bytes;
}

// Times of a call about every microsecond that takes a third of it. They scatter as in programs.
class Clock {
 public:
  explicit Clock(uint64_t seed) : random_(seed) {}
  void stamp(Access& access) {
    now_ += static_cast<int64_t>(gap_(random_));
    access.start_ns = now_;
    now_ += static_cast<int64_t>(duration_(random_));
    access.end_ns = access.completed_ns = now_;
  }

 private:
  std::mt19937_64 random_;
  std::lognormal_distribution<double> gap_{std::log(1000.0), 0.5};
  std::lognormal_distribution<double> duration_{std::log(300.0), 0.3};
  int64_t now_ = 1'000'000;
};

std::vector<Access> strided_loop(uint32_t count) {
  std::vector<Access> accesses(count);
  Clock clock(1);
  for (uint32_t i = 0; i < count; ++i) {
    accesses[i].position = int64_t{i} * 16384;
    accesses[i].requested = accesses[i].transferred = 4096;
    accesses[i].routine = 5;
    clock.stamp(accesses[i]);
  }
  return accesses;
}

TEST(TraceDurations, EveryNumberComesBack) {
  std::mt19937_64 random(3);
  std::vector<uint64_t> values{0,  1,  15, 16, 17,
                               19, 20, 31, 32, std::numeric_limits<uint64_t>::max()};
  for (int i = 0; i < 10'000; ++i) values.push_back(random() >> (random() % 64));
  Bytes bits_of;
  BitWriter writer(bits_of);
  for (const uint64_t value : values) {
    const Magnitude magnitude = Magnitude::of(value);
    ASSERT_LE(magnitude.base(), value);
    writer.put(value - magnitude.base(), magnitude.low_bits);
  }
  writer.finish();
  BitReader reader(bits_of);
  for (const uint64_t value : values) {
    const Magnitude magnitude = Magnitude::of_symbol(Magnitude::of(value).symbol);
    ASSERT_EQ(magnitude.base() + reader.get(magnitude.low_bits), value);
  }
  EXPECT_TRUE(reader.ok());
  reader.get(8);
  EXPECT_FALSE(reader.ok());
}

TEST(TraceBlock, RandomAccessesComeBack) {
  std::mt19937_64 random(5);
  const auto any = [&] { return static_cast<int64_t>(random() >> (random() % 64)); };
  for (int round = 0; round < 50; ++round) {
    std::vector<Access> accesses(1 + random() % 500);
    for (Access& access : accesses) {
      const int64_t sign = random() % 2 == 0 ? 1 : -1;
      access = {any() * sign,
                any(),
                any(),
                any() * sign,
                any() * sign,
                any() * sign,
                random(),
                static_cast<uint32_t>(random() >> (32 + random() % 32)),
                static_cast<uint32_t>(random() % 5),
                0,
                static_cast<uint8_t>(random())};
      if (random() % 4 == 0) access.completed_ns = unknown_time;
      if (random() % 4 == 0) access.completed_ns = access.end_ns;
      if (access.completed_ns == unknown_time && random() % 2 == 0)
        access.request = static_cast<uint32_t>(random() >> (32 + random() % 32));
    }
    EXPECT_EQ(decoded(encoded(accesses), static_cast<uint32_t>(accesses.size())), accesses);
  }
}

TEST(TraceBlock, TimesAreFoldedIntoHistograms) {
  const std::vector<Access> accesses = strided_loop(10'000);
  const Bytes bytes = encoded(accesses, Times::histogram);
  BlockDecoder decoder;
  Accesses found;
  TimeHistogram folded;
  ASSERT_EQ(decoder.decode(bytes, 10'000, 0, found, &folded), "");
  ASSERT_EQ(found.size(), accesses.size());
  uint64_t counted = 0;
  for (std::size_t s = 0; s < folded.durations.size(); ++s) {
    uint64_t expected = 0;
    for (const Access& access : accesses) {
      const auto duration = static_cast<uint64_t>(access.end_ns - access.start_ns);
      expected += Magnitude::of(duration).symbol == s ? 1 : 0;
    }
    EXPECT_EQ(folded.durations[s], expected);
    counted += folded.durations[s];
  }
  EXPECT_EQ(counted, accesses.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found.position[i], accesses[i].position);
    EXPECT_EQ(found.requested[i], 4096);
    EXPECT_EQ(found.start_ns[i], accesses[0].start_ns);
  }
}

// The entropy of these times is about 2.5 bytes.
TEST(TraceBlock, ARegularLoopIsSmall) {
  constexpr uint32_t count = 16'384;
  const double exact = static_cast<double>(encoded(strided_loop(count)).size()) / count;
  const double folded =
      static_cast<double>(encoded(strided_loop(count), Times::histogram).size()) / count;
  RecordProperty("bytes_a_call_exact", std::to_string(exact));
  RecordProperty("bytes_a_call_folded", std::to_string(folded));
  EXPECT_LT(exact, 3.0);
  EXPECT_LT(folded, 0.05);
}

TEST(TraceBlock, CutOffOrChangedBytesAreRefusedOrHarmless) {
  const Bytes good = encoded(strided_loop(300));
  BlockDecoder decoder;
  for (std::size_t length = 0; length < good.size(); ++length) {
    Accesses accesses;
    EXPECT_NE(decoder.decode(ByteView(good.data(), length), 300, 0, accesses), "");
    EXPECT_EQ(accesses.size(), 0u);
  }
  for (const uint32_t wrong_count : {0u, 1u, 299u, 301u, most_accesses + 1}) {
    Accesses accesses;
    EXPECT_NE(decoder.decode(good, wrong_count, 0, accesses), "") << wrong_count;
  }
  std::mt19937 random(9);
  for (int round = 0; round < 20'000; ++round) {
    Bytes bad = good;
    for (uint32_t change = 0; change <= random() % 3; ++change)
      bad[random() % bad.size()] = static_cast<std::byte>(random());
    Accesses accesses;
    const std::string problem = decoder.decode(bad, 300, 0, accesses);
    EXPECT_EQ(accesses.size(), problem.empty() ? 300u : 0u);
  }
}

TEST(TraceBytes, ChecksumIsCastagnolis) {
  const std::string text = "123456789";
  EXPECT_EQ(crc32c(std::as_bytes(std::span(text))), 0xe3069283u);
}

}  // namespace
}  // namespace forebay::trace
