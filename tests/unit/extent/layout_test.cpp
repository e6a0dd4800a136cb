// Layouts, tilings and cursors against a naive expansion: every layout is also built as a list of
// its bytes' offsets, and everything is compared with that list.
#include "extent/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "trace/layout_code.h"

namespace forebay {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

using Bytes = std::vector<int64_t>;  // offsets of the data bytes, in type-map order

struct Sample {
  LayoutRef layout;
  Bytes bytes;
  std::string text;  // how it was built, to repeat a failure by hand
};

void place(const Bytes& child, int64_t displacement, Bytes& out) {
  for (const int64_t byte : child) out.push_back(displacement + byte);
}

// Random nested layouts. In `ascending` mode parts never overlap nor go backwards.
class Generator {
 public:
  Generator(uint32_t seed, bool ascending) : random_(seed), ascending_(ascending) {}

  Sample layout(int depth) {
    if (depth == 0) return block();
    switch (pick(0, 5)) {
      case 0:
        return block();
      case 1:
        return repeat(depth);
      case 2:
        return indexed(depth);
      case 3:
        return structure(depth);
      case 4:
        return shared_structure(depth);
      default:
        return shifted(depth);
    }
  }

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  // The distance from one part to the next; often the parts touch.
  int64_t spacing(const Sample& child) {
    const int64_t extent = span(child.bytes);
    if (ascending_) return extent + (pick(0, 2) == 0 ? pick(0, 5) : 0);
    return pick(0, 1) == 0 ? extent : pick(-12, 12);
  }

 private:
  static int64_t span(const Bytes& bytes) {
    if (bytes.empty()) return 0;
    const auto [low, high] = std::minmax_element(bytes.begin(), bytes.end());
    return *high + 1 - *low;
  }

  static std::string list(const std::vector<int64_t>& values) {
    std::string text = "{";
    for (const int64_t value : values) text += std::to_string(value) + ",";
    return text + "}";
  }

  Sample block() {
    const int64_t length = pick(0, 3) == 0 ? 0 : pick(1, 4);
    Sample sample{Layout::block(length), Bytes(length), "block(" + std::to_string(length) + ")"};
    std::iota(sample.bytes.begin(), sample.bytes.end(), 0);
    return sample;
  }

  Sample repeat(int depth) {
    const Sample child = layout(depth - 1);
    const int64_t count = pick(0, 4);
    const int64_t stride = spacing(child);
    Sample sample{Layout::repeat(count, stride, child.layout),
                  {},
                  "repeat(" + list({count, stride}) + child.text + ")"};
    for (int64_t i = 0; i < count; ++i) place(child.bytes, i * stride, sample.bytes);
    return sample;
  }

  Sample indexed(int depth) {
    const Sample child = layout(depth - 1);
    const int64_t stride = spacing(child);
    const bool uniform = pick(0, 2) == 0;
    const int64_t count = pick(0, 3);
    std::vector<int64_t> displacements, counts;
    Sample sample;
    int64_t at = pick(-9, 9);
    for (int64_t entries = pick(0, 4); entries > 0; --entries) {
      const int64_t copies = uniform ? count : pick(0, 3);
      displacements.push_back(at);
      counts.push_back(copies);
      for (int64_t j = 0; j < copies; ++j) place(child.bytes, at + j * stride, sample.bytes);
      const int64_t end = at + copies * stride;
      at = ascending_ || pick(0, 1) == 0 ? end + (pick(0, 1) == 0 ? 0 : pick(0, 4)) : pick(-9, 30);
    }
    sample.text = "indexed(" + list(displacements) + list(counts) + std::to_string(stride) + "," +
                  child.text + ")";
    sample.layout = Layout::indexed(displacements, counts, stride, child.layout);
    return sample;
  }

  Sample structure(int depth) {
    std::vector<int64_t> displacements;
    std::vector<LayoutRef> children;
    Sample sample{nullptr, {}, "structure("};
    int64_t end = pick(-9, 9);
    for (int64_t entries = pick(0, 4); entries > 0; --entries) {
      const Sample child = layout(depth - 1);
      int64_t at = end - child.layout->true_lower();
      if (!ascending_ && pick(0, 1) == 0) at = pick(-20, 20);
      if (ascending_ && pick(0, 1) == 0) at += pick(0, 5);
      displacements.push_back(at);
      children.push_back(child.layout);
      place(child.bytes, at, sample.bytes);
      end = std::max(end, at + child.layout->true_upper());
      sample.text += std::to_string(at) + ":" + child.text + ",";
    }
    sample.text += ")";
    sample.layout = Layout::structure(displacements, children);
    return sample;
  }

  Sample shared_structure(int depth) {
    const Sample child = layout(depth - 1);
    std::vector<int64_t> displacements;
    Sample sample;
    int64_t at = pick(-9, 9);
    for (int64_t entries = pick(0, 4); entries > 0; --entries) {
      displacements.push_back(at);
      place(child.bytes, at, sample.bytes);
      at += spacing(child);
    }
    sample.text = "shared(" + list(displacements) + child.text + ")";
    sample.layout =
        Layout::structure(displacements, std::vector(displacements.size(), child.layout));
    return sample;
  }

  Sample shifted(int depth) {
    const Sample child = layout(depth - 1);
    const int64_t displacement = pick(-9, 9);
    Sample sample{Layout::shifted(displacement, child.layout),
                  {},
                  "shifted(" + std::to_string(displacement) + "," + child.text + ")"};
    place(child.bytes, displacement, sample.bytes);
    return sample;
  }

  std::mt19937 random_;
  bool ascending_;
};

bool ascends(const Bytes& bytes) {
  return std::adjacent_find(bytes.begin(), bytes.end(), std::greater_equal<>()) == bytes.end();
}

bool one_run(const Bytes& bytes) {
  for (std::size_t i = 1; i < bytes.size(); ++i)
    if (bytes[i] != bytes[i - 1] + 1) return false;
  return true;
}

void expect_properties(const Sample& sample) {
  const Bytes& bytes = sample.bytes;
  const Layout& layout = *sample.layout;
  EXPECT_EQ(layout.size(), static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(layout.true_lower(), bytes.empty() ? 0 : *std::min_element(bytes.begin(), bytes.end()));
  EXPECT_EQ(layout.true_upper(),
            bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end()) + 1);
  EXPECT_EQ(layout.first(), bytes.empty() ? 0 : bytes[0]);
  EXPECT_EQ(layout.contiguous(), one_run(bytes));
  EXPECT_EQ(layout.monotone(), ascends(bytes));
  EXPECT_GT(layout.description_bytes(), 0);
}

// The layout, written as bytes and read again.
LayoutRef read_back(const Layout& layout) {
  trace::Bytes bytes;
  trace::ByteWriter writer(bytes);
  LayoutCode::write(layout, writer);
  trace::ByteReader reader(bytes);
  LayoutRef read = LayoutCode::read(reader);
  EXPECT_NE(read, nullptr);
  EXPECT_TRUE(reader.ok() && reader.at_end());
  return read;
}

Bytes tiled(const Sample& sample, const Tiling& tiling, int64_t copies) {
  Bytes bytes;
  for (int64_t k = 0; k < copies; ++k)
    place(sample.bytes, tiling.origin + k * tiling.extent_bytes, bytes);
  return bytes;
}

// The length of the run that a cursor at `position` must return; 0 if the expansion is too short.
int64_t run_length(const Bytes& bytes, std::size_t position, int64_t max_bytes) {
  int64_t length = 1;
  while (length < max_bytes && position + length < bytes.size() &&
         bytes[position + length] == bytes[position] + length)
    ++length;
  return length;
}

// Walks from `position` in steps of at most max_bytes through all but the last copies.
void expect_walk(const Tiling& tiling, const Bytes& bytes, std::size_t position, std::size_t until,
                 int64_t max_bytes) {
  Cursor cursor(tiling, static_cast<int64_t>(position));
  while (position < until) {
    ASSERT_EQ(cursor.position(), static_cast<int64_t>(position));
    ASSERT_EQ(cursor.offset(), bytes[position]);
    const Extent run = cursor.next(max_bytes);
    ASSERT_EQ(run.offset, bytes[position]) << "position " << position << " max " << max_bytes;
    ASSERT_EQ(run.length, run_length(bytes, position, max_bytes))
        << "position " << position << " max " << max_bytes;
    position += run.length;
  }
}

void expect_tiling(const Sample& sample, const Tiling& tiling) {
  constexpr int64_t max_step = 9;
  const std::size_t size = sample.bytes.size();
  const auto copies = static_cast<int64_t>(3 + max_step / size + 1);
  const Bytes bytes = tiled(sample, tiling, copies + 2);
  const std::size_t until = size * 3;
  EXPECT_EQ(tiling.contiguous(), one_run(bytes));
  EXPECT_EQ(tiling.monotone(), ascends(bytes));
  for (std::size_t position = 0; position < until; ++position) {
    ASSERT_EQ(tiling.offset_of(static_cast<int64_t>(position)), bytes[position]);
    for (int64_t max_bytes = 1; max_bytes <= max_step; ++max_bytes) {
      Cursor cursor(tiling, static_cast<int64_t>(position));
      const Extent run = cursor.next(max_bytes);
      ASSERT_EQ(run.offset, bytes[position]);
      ASSERT_EQ(run.length, run_length(bytes, position, max_bytes)) << "position " << position;
    }
  }
  for (int64_t max_bytes = 1; max_bytes <= max_step; ++max_bytes)
    for (std::size_t position = 0; position < size; position += 1 + size / 3)
      expect_walk(tiling, bytes, position, until, max_bytes);
  if (!one_run(bytes)) expect_walk(tiling, bytes, 0, size, static_cast<int64_t>(size));
  if (!ascends(bytes)) return;
  for (int64_t offset = bytes[0] - 3; offset <= bytes[until - 1] + 3; ++offset) {
    const auto below = std::lower_bound(bytes.begin(), bytes.end(), offset) - bytes.begin();
    ASSERT_EQ(tiling.data_below(offset), below) << "offset " << offset;
  }
}

// The number of random layouts. For a longer run: FOREBAY_TEST_LAYOUTS=1000000.
int layouts_to_try() {
  const char* text = std::getenv("FOREBAY_TEST_LAYOUTS");
  return text ? std::atoi(text) : 6000;
}

TEST(LayoutRandom, MatchesNaiveExpansion) {
  int tried = 0;
  for (uint32_t seed = 0; tried < layouts_to_try(); ++seed) {
    Generator generator(seed, seed % 2 == 0);
    const Sample sample = generator.layout(static_cast<int>(1 + seed % 4));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + sample.text);
    ASSERT_NE(sample.layout, nullptr);
    if (sample.bytes.size() > 200) continue;
    ++tried;
    expect_properties(sample);
    expect_properties({read_back(*sample.layout), sample.bytes, sample.text});
    if (sample.bytes.empty()) continue;
    const int64_t true_extent = sample.layout->true_upper() - sample.layout->true_lower();
    for (const int64_t extent : {true_extent, true_extent + generator.pick(0, 6),
                                 generator.pick(-20, 40), generator.spacing(sample)})
      expect_tiling(sample, {tried % 2 == 0 ? sample.layout : read_back(*sample.layout),
                             generator.pick(-50, 50), extent});
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(Layout, DeepNestingLeavesTheInlineStack) {
  Sample sample{Layout::block(1), {0}, ""};
  for (int depth = 0; depth < 40; ++depth) {
    const int64_t at = sample.layout->true_upper() + 2;
    sample.layout = Layout::structure({0, at}, {sample.layout, Layout::block(1)});
    sample.bytes.push_back(at);
    sample.layout = Layout::structure({3, 0}, {Layout::block(2), sample.layout});
    sample.bytes.insert(sample.bytes.begin(), {3, 4});
  }
  expect_properties(sample);
  expect_tiling(sample, {sample.layout, 5, 200});
}

TEST(Layout, NormalFormIsSmall) {
  const int64_t node = Layout::block(1)->description_bytes();
  const LayoutRef row = Layout::repeat(10'000'000, 16, Layout::block(8));
  EXPECT_EQ(row->description_bytes(), 2 * node);
  EXPECT_EQ(row->size(), 80'000'000);
  // Touching blocks merge; copies that touch become one block.
  EXPECT_EQ(Layout::repeat(1'000'000, 8, Layout::block(8))->description_bytes(), node);
  EXPECT_EQ(Layout::structure({8, 12}, {Layout::block(4), Layout::block(4)})->description_bytes(),
            2 * node);  // a shifted block
  // Rows of rows with one spacing are one row.
  EXPECT_EQ(Layout::repeat(5, 160, Layout::repeat(10, 16, Layout::block(8)))->description_bytes(),
            2 * node);
  // An indexed type of equal spacing and counts is a repeat.
  std::vector<int64_t> displacements(1000);
  for (int64_t i = 0; i < 1000; ++i) displacements[i] = 7 + 100 * i;
  EXPECT_EQ(Layout::indexed(displacements, std::vector<int64_t>(1000, 3), 4, Layout::block(2))
                ->description_bytes(),
            4 * node);  // shift, repeat, repeat, block
  // Nested shifts combine; a zero shift disappears.
  EXPECT_EQ(Layout::shifted(5, Layout::shifted(-5, row))->description_bytes(), 2 * node);
  // An irregular indexed type takes the memory of its displacements.
  std::mt19937 random(1);
  for (int64_t i = 1; i < 1000; ++i)
    displacements[i] = displacements[i - 1] + 5 + static_cast<int64_t>(random() % 100);
  EXPECT_LE(Layout::indexed(displacements, std::vector<int64_t>(1000, 1), 4, Layout::block(4))
                ->description_bytes(),
            2 * node + 8000);
}

TEST(Layout, EmptyLayouts) {
  for (const LayoutRef& empty :
       {Layout::block(0), Layout::repeat(0, 8, Layout::block(4)),
        Layout::repeat(5, 8, Layout::block(0)), Layout::indexed({}, {}, 4, Layout::block(4)),
        Layout::indexed({3, 9}, {0, 0}, 4, Layout::block(4)), Layout::structure({}, {}),
        Layout::shifted(7, Layout::block(0))}) {
    ASSERT_NE(empty, nullptr);
    EXPECT_EQ(empty->size(), 0);
    EXPECT_EQ(empty->true_lower(), 0);
    EXPECT_EQ(empty->true_upper(), 0);
    const Tiling tiling{empty, 10, 8};
    Cursor cursor(tiling, 0);
    EXPECT_TRUE(cursor.next(100).empty());
    EXPECT_EQ(tiling.data_below(1000), 0);
  }
}

TEST(Layout, RefusesWhatIsNoType) {
  EXPECT_EQ(Layout::block(-1), nullptr);
  EXPECT_EQ(Layout::repeat(-1, 4, Layout::block(4)), nullptr);
  EXPECT_EQ(Layout::repeat(1, 4, nullptr), nullptr);
  EXPECT_EQ(Layout::indexed({0}, {-1}, 4, Layout::block(4)), nullptr);
  EXPECT_EQ(Layout::indexed({0, 1}, {1}, 4, Layout::block(4)), nullptr);
  EXPECT_EQ(Layout::structure({0}, {nullptr}), nullptr);
  EXPECT_EQ(Layout::structure({0}, {}), nullptr);
  EXPECT_EQ(Layout::shifted(1, nullptr), nullptr);
}

TEST(Layout, RefusesWhatLeaves64Bits) {
  const LayoutRef byte = Layout::block(1);
  const LayoutRef pair = Layout::repeat(2, 4, byte);
  EXPECT_EQ(Layout::repeat(kMax, 2, byte), nullptr);
  EXPECT_EQ(Layout::repeat(kMax, kMax, pair), nullptr);
  EXPECT_EQ(Layout::repeat(kMax, 2, Layout::block(2)), nullptr);
  EXPECT_EQ(Layout::repeat(3, kMin, byte), nullptr);
  EXPECT_EQ(Layout::shifted(kMax, Layout::shifted(1, byte)), nullptr);
  EXPECT_EQ(Layout::shifted(kMax, byte), nullptr);  // its end does not fit
  EXPECT_EQ(Layout::indexed({0, kMax}, {1, 1}, 1, byte), nullptr);
  EXPECT_EQ(Layout::indexed({kMin, kMax - 1}, {1, 1}, 1, byte), nullptr);
  EXPECT_EQ(Layout::indexed({0, 9}, {kMax, 2}, 3, byte), nullptr);
  EXPECT_EQ(Layout::indexed({0, 9}, {kMax, kMax}, 0, pair), nullptr);
  EXPECT_EQ(Layout::structure({kMax, 0}, {pair, byte}), nullptr);
  EXPECT_EQ(Layout::structure({0, kMin}, {pair, Layout::shifted(-1, byte)}), nullptr);
  EXPECT_NE(Layout::indexed({0, kMax - 1}, {1, 1}, 1, byte), nullptr);
  EXPECT_NE(Layout::repeat(2, kMax - 1, byte), nullptr);
  EXPECT_NE(Layout::shifted(kMin, byte), nullptr);
}

// Numbers of a faulty or hostile program. Nothing may overflow (sanitizers check this), and
// accepted values must be consistent.
class ExtremeNumbers {
 public:
  explicit ExtremeNumbers(uint32_t seed) : random_(seed) {}

  int64_t number() {
    static const std::vector<int64_t> numbers{0,
                                              1,
                                              2,
                                              3,
                                              8,
                                              -1,
                                              -2,
                                              -8,
                                              int64_t{1} << 31,
                                              -(int64_t{1} << 31),
                                              int64_t{1} << 32,
                                              int64_t{1} << 62,
                                              -(int64_t{1} << 62),
                                              kMax / 3,
                                              kMax - 1,
                                              kMax,
                                              kMin,
                                              kMin + 1};
    return numbers[random_() % numbers.size()];
  }
  int64_t count() { return random_() % 2 ? static_cast<int64_t>(random_() % 4) : number(); }

  LayoutRef layout(int depth) {
    if (depth == 0) return Layout::block(count());
    LayoutRef child = layout(depth - 1);
    switch (random_() % 4) {
      case 0:
        return Layout::repeat(count(), number(), child);
      case 1:
        return Layout::shifted(number(), child);
      case 2:
        return Layout::indexed({number(), number(), number()}, {count(), count(), count()},
                               number(), child);
      default:
        return Layout::structure({number(), number()}, {child, layout(depth - 1)});
    }
  }

 private:
  std::mt19937 random_;
};

TEST(LayoutRandom, ExtremeNumbersAreRefusedOrKept) {
  int kept = 0;
  for (uint32_t seed = 0; seed < 20'000; ++seed) {
    ExtremeNumbers extreme(seed);
    const LayoutRef layout = extreme.layout(static_cast<int>(seed % 4));
    if (!layout || layout->size() == 0) continue;
    ++kept;
    ASSERT_GT(layout->size(), 0);
    ASSERT_LT(layout->true_lower(), layout->true_upper());
    const Tiling tiling{layout, extreme.number(), extreme.number()};
    for (const int64_t position : {int64_t{0}, layout->size() - 1, layout->size() / 2, kMax}) {
      const int64_t offset = tiling.offset_of(position);
      Cursor cursor(tiling, position);
      for (int i = 0; i < 5 && position < kMax - 15; ++i) ASSERT_GT(cursor.next(1 + i).length, 0);
      if (tiling.monotone() && offset != kMax && tiling.offset_of(0) != kMax) {
        ASSERT_EQ(tiling.data_below(offset), position) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(kept, 1000);
}

TEST(Tiling, OffsetsBeyond64BitsAreSaid) {
  const Tiling tiling{Layout::repeat(2, 4, Layout::block(1)), 1000, int64_t{1} << 40};
  EXPECT_EQ(tiling.offset_of(2 * (int64_t{1} << 22)), 1000 + (int64_t{1} << 62));
  EXPECT_EQ(tiling.offset_of(2 * (int64_t{1} << 23)), kMax);
  EXPECT_EQ(tiling.offset_of(kMax), kMax);
  EXPECT_EQ((Tiling{Layout::block(8), kMax - 10, 16}).offset_of(8), kMax);
}

TEST(Tiling, WalksNearTheEndOfTheAddressRange) {
  const Tiling tiling{Layout::repeat(2, 4, Layout::block(2)), kMax - 16, 10};
  Cursor cursor(tiling, 0);
  EXPECT_EQ(cursor.next(100), (Extent{kMax - 16, 2}));
  EXPECT_EQ(cursor.next(100), (Extent{kMax - 12, 2}));
  EXPECT_EQ(cursor.next(100), (Extent{kMax - 6, 2}));
}

TEST(Tiling, ContiguousTilingIsOneRun) {
  const Tiling tiling{Layout::shifted(3, Layout::block(8)), 100, 8};
  EXPECT_TRUE(tiling.contiguous());
  Cursor cursor(tiling, 5);
  EXPECT_EQ(cursor.next(int64_t{1} << 50), (Extent{108, int64_t{1} << 50}));
  EXPECT_EQ(cursor.next(7), (Extent{108 + (int64_t{1} << 50), 7}));
}

TEST(Tiling, HugeViewsAreWalkedFromAnywhere) {
  // 10 million blocks in each of a million planes, tiled.
  const LayoutRef plane = Layout::repeat(10'000'000, 100, Layout::block(8));
  const LayoutRef cube = Layout::repeat(1'000'000, 2'000'000'000, plane);
  const Tiling tiling{cube, 7, 4'000'000'000'000'000};
  const int64_t position = cube->size() + 999'999 * plane->size() + 8 * 5 + 3;
  const int64_t offset = 7 + 4'000'000'000'000'000 + 999'999 * int64_t{2'000'000'000} + 503;
  EXPECT_EQ(tiling.offset_of(position), offset);
  EXPECT_EQ(tiling.data_below(offset), position);
  Cursor cursor(tiling, position);
  EXPECT_EQ(cursor.next(100), (Extent{offset, 5}));
  EXPECT_EQ(cursor.next(100), (Extent{offset + 97, 8}));
}

TEST(Tiling, LongListsAreSearchedWhateverTheirSpacing) {
  constexpr int64_t entries = 20'000;
  for (const int64_t growth : {0, 1, 7, 1000}) {
    std::mt19937_64 random(growth);
    std::vector<int64_t> displacements, lengths, before;
    int64_t at = 0, total = 0;
    for (int64_t i = 0; i < entries; ++i) {
      displacements.push_back(at);
      before.push_back(total);
      lengths.push_back(1 + static_cast<int64_t>(random() % 8) +
                        (i > entries / 2 ? growth * i : 0));
      total += lengths.back();
      at += lengths.back() + 1 + static_cast<int64_t>(random() % 100) + growth * i * i % 1'000'003;
    }
    const Tiling tiling{Layout::indexed(displacements, lengths, 1, Layout::block(1)), 0, at};
    for (int64_t i = 0; i < entries; ++i) {
      ASSERT_EQ(tiling.offset_of(before[i]), displacements[i]);
      ASSERT_EQ(tiling.offset_of(before[i] + lengths[i] - 1), displacements[i] + lengths[i] - 1);
      ASSERT_EQ(tiling.data_below(displacements[i]), before[i]);
      ASSERT_EQ(tiling.data_below(displacements[i] + lengths[i]), before[i] + lengths[i]);
      ASSERT_EQ(tiling.data_below(displacements[i] - 1), before[i]);
    }
  }
}

}  // namespace
}  // namespace forebay
