// Every page kind against a model that keeps two flags a byte: seeded random sequences of
// operations, and all regions of a smallest page one by one.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "page/page_kind.h"
#include "variants.h"

namespace forebay {
namespace {

class Model {
 public:
  explicit Model(int64_t page_size) : bytes_(static_cast<std::size_t>(page_size)) {}

  void publish(Extent region) {
    each(region, [](Byte& byte) { byte.dirty = true; });
  }
  void fill(Extent region) {
    each(region, [](Byte& byte) { byte.valid = true; });
  }
  void take_dirty() {
    for (Byte& byte : bytes_) {
      byte.valid = byte.valid || byte.dirty;
      byte.dirty = false;
    }
  }
  void drop_clean() {
    for (Byte& byte : bytes_) byte.valid = false;
  }
  void truncate(int64_t length) {
    each({length, size() - length}, [](Byte& byte) { byte = {}; });
  }
  // What a kind that is short of room has forgotten.
  void forget(const Regions& regions) {
    for (const Extent region : regions) each(region, [](Byte& byte) { byte.valid = false; });
  }

  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  Regions dirty() const {
    return runs({0, size()}, [](const Byte& byte) { return byte.dirty; });
  }
  Regions missing(Extent region) const {
    return runs(region, [](const Byte& byte) { return !byte.held(); });
  }
  int64_t regions() const {
    const auto clean = runs({0, size()}, [](const Byte& b) { return b.valid && !b.dirty; });
    return static_cast<int64_t>(clean.size() + dirty().size());
  }

 private:
  struct Byte {
    bool valid = false;
    bool dirty = false;
    bool held() const { return valid || dirty; }
  };

  template <typename Change>
  void each(Extent region, Change change) {
    for (int64_t i = region.offset; i < region.end(); ++i) change(bytes_[std::size_t(i)]);
  }
  template <typename Test>
  Regions runs(Extent region, Test test) const {
    Regions out;
    for (int64_t i = region.offset; i < region.end(); ++i) {
      if (!test(bytes_[std::size_t(i)])) continue;
      if (!out.empty() && out.back().end() == i) {
        ++out.back().length;
      } else {
        out.push_back({i, 1});
      }
    }
    return out;
  }

  std::vector<Byte> bytes_;
};

std::string text(const Regions& regions) {
  std::string out;
  for (const Extent region : regions) {
    out += "[" + std::to_string(region.offset) + "+" + std::to_string(region.length) + "]";
  }
  return out;
}

// A page of one kind beside its model; every change is made to both and compared.
class Pair {
 public:
  Pair(const PageKind& kind, int64_t page_size)
      : kind_(kind), size_(page_size), model_(page_size), state_(words(), ~uint64_t{0}) {
    kind_.reset(state(), size_);
  }

  void publish(Extent region) {
    if (!kind_.publish(state(), size_, region)) {
      EXPECT_GE(model_.regions(), remembered_regions(size_) / 2) << "refused too early";
      check("a refused publish");
      take_dirty();
      ASSERT_TRUE(kind_.publish(state(), size_, region)) << "refused after take_dirty";
    }
    model_.publish(region);
    reconcile();
    check("publish");
  }

  void fill(Extent region) {
    if (kind_.fill(state(), size_, region)) {
      model_.fill(region);
      EXPECT_TRUE(kind_.holds(state(), size_, region));
    }
    reconcile();
    check("fill");
  }

  void take_dirty() {
    Regions taken;
    kind_.take_dirty(state(), size_, taken);
    EXPECT_EQ(text(taken), text(model_.dirty()));
    model_.take_dirty();
    check("take_dirty");
  }

  void drop_clean() {
    kind_.drop_clean(state(), size_);
    model_.drop_clean();
    check("drop_clean");
  }

  void truncate(int64_t length) {
    kind_.truncate(state(), size_, length);
    model_.truncate(length);
    check("truncate");
  }

  void look(Extent region) {
    const Regions expected = model_.missing(region);
    Regions missing;
    kind_.missing(state(), size_, region, missing);
    EXPECT_EQ(text(missing), text(expected));
    EXPECT_EQ(kind_.holds(state(), size_, region), expected.empty());
  }

  void check(const char* after) {
    SCOPED_TRACE(after);
    look({0, size_});
    Regions dirty;
    kind_.dirty(state(), size_, dirty);
    EXPECT_EQ(text(dirty), text(model_.dirty()));
    EXPECT_EQ(kind_.any_dirty(state(), size_), !model_.dirty().empty());
    EXPECT_EQ(state_.back(), ~uint64_t{0}) << "wrote beyond its state";
  }

 private:
  // A kind with more regions than it promises to remember may have forgotten clean bytes.
  void reconcile() {
    if (model_.regions() <= remembered_regions(size_)) return;
    Regions missing;
    kind_.missing(state(), size_, {0, size_}, missing);
    model_.forget(missing);
  }

  std::size_t words() const { return kind_.state_bytes(size_) / sizeof(uint64_t) + 1; }
  void* state() { return state_.data(); }

  const PageKind& kind_;
  const int64_t size_;
  Model model_;
  std::vector<uint64_t> state_;  // and one guard word
};

class PageModel : public testing::TestWithParam<const PageKind*> {};

INSTANTIATE_TEST_SUITE_P(Kinds, PageModel, testing::ValuesIn(test::page_kinds_and_template()),
                         [](const auto& param) { return std::string(param.param->name()); });

// Regions of mixed lengths, with offsets and ends that often fall on word boundaries.
class RegionSource {
 public:
  RegionSource(std::mt19937_64& random, int64_t page_size) : random_(random), size_(page_size) {}

  Extent next() {
    int64_t offset = below(size_);
    int64_t length = 1 + below(below(3) == 0 ? size_ : 1 + below(below(2) == 0 ? 8 : 200));
    if (below(4) == 0) offset = offset / 64 * 64;
    if (below(4) == 0) length = (length + 63) / 64 * 64;
    return {offset, std::min(length, size_ - offset)};
  }
  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % uint64_t(bound)); }

 private:
  std::mt19937_64& random_;
  const int64_t size_;
};

void run_sequence(const PageKind& kind, int64_t page_size, uint64_t seed, int operations) {
  SCOPED_TRACE("page size " + std::to_string(page_size) + ", seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  RegionSource source(random, page_size);
  Pair pair(kind, page_size);
  for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("operation " + std::to_string(i));
    const Extent region = source.next();
    switch (source.below(16)) {
      case 0:
        pair.take_dirty();
        break;
      case 1:
        pair.drop_clean();
        break;
      case 2:
        pair.truncate(source.below(page_size + 1));
        break;
      case 3:
      case 4:
      case 5:
        pair.fill(region);
        break;
      case 6:
      case 7:
        pair.look(region);
        break;
      default:
        pair.publish(region);
    }
  }
}

TEST_P(PageModel, RandomSequences) {
  for (uint64_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
    run_sequence(*GetParam(), 512, seed, 40);
    run_sequence(*GetParam(), 64 * 23, seed, 30);
  }
  for (uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    run_sequence(*GetParam(), 4096, seed, 200);
    run_sequence(*GetParam(), 65536, seed, 30);
  }
}

TEST_P(PageModel, EveryRegionOfASmallPage) {
  constexpr int64_t size = 512;
  const PageKind& kind = *GetParam();
  std::vector<uint64_t> state(kind.state_bytes(size) / sizeof(uint64_t));
  Regions regions;
  for (int64_t offset = 0; offset < size; ++offset) {
    for (int64_t length = 1; offset + length <= size; ++length) {
      const Extent region{offset, length};
      kind.reset(state.data(), size);
      ASSERT_TRUE(kind.publish(state.data(), size, region));
      ASSERT_TRUE(kind.holds(state.data(), size, region));
      regions.clear();
      kind.take_dirty(state.data(), size, regions);
      ASSERT_EQ(regions, Regions{region});
      ASSERT_FALSE(kind.any_dirty(state.data(), size));
      ASSERT_TRUE(kind.holds(state.data(), size, region));
      ASSERT_FALSE(offset > 0 && kind.holds(state.data(), size, {offset - 1, 2}));
      ASSERT_FALSE(region.end() < size && kind.holds(state.data(), size, {region.end() - 1, 2}));
    }
  }
}

TEST_P(PageModel, AlternatingBytesAreRefusedOrKept) {
  for (const int64_t size : {int64_t{512}, int64_t{2048}}) {
    Pair pair(*GetParam(), size);
    for (int64_t i = 0; i < size; i += 2) pair.publish({i, 1});
    for (int64_t i = 1; i < size; i += 4) pair.fill({i, 1});
    pair.fill({0, size});
    pair.take_dirty();
    pair.fill({0, size});
    pair.look({0, size});
  }
}

TEST_P(PageModel, EmptyRegionsChangeNothing) {
  Pair pair(*GetParam(), 1024);
  pair.publish({100, 0});
  pair.fill({1024, 0});
  pair.look({1024, 0});
  pair.truncate(1024);
  pair.publish({0, 1024});
  pair.truncate(0);
}

TEST_P(PageModel, LargestPage) {
  const PageKind& kind = *GetParam();
  std::vector<uint64_t> state(kind.state_bytes(largest_page_size) / sizeof(uint64_t));
  kind.reset(state.data(), largest_page_size);
  const Extent last{largest_page_size - 1, 1};
  EXPECT_TRUE(kind.publish(state.data(), largest_page_size, last));
  EXPECT_TRUE(kind.publish(state.data(), largest_page_size, {0, 3}));
  Regions regions;
  kind.take_dirty(state.data(), largest_page_size, regions);
  EXPECT_EQ(regions, (Regions{{0, 3}, last}));
}

TEST(PageKinds, AreFoundByName) {
  for (const PageKind* kind : page_kinds()) EXPECT_EQ(find_page_kind(kind->name()), kind);
  EXPECT_EQ(find_page_kind("no such kind"), nullptr);
}

}  // namespace
}  // namespace forebay
