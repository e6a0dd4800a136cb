// A model of a page with three flags per byte, a page of one kind beside it, and random operations
// on both.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "page/page_kind.h"

namespace forebay::test {

inline std::vector<const PageKind*> lock_free_kinds() {
  std::vector<const PageKind*> out;
  for (const PageKind* kind : page_kinds()) {
    if (kind->lock_free()) out.push_back(kind);
  }
  return out;
}

class Model {
 public:
  explicit Model(int64_t page_size) : bytes_(static_cast<std::size_t>(page_size)) {}

  void publish(Extent region) {
    each(region, [](Byte& byte) {
      byte.dirty = true;
      byte.in_flight = false;
    });
  }
  void fill(Extent region) {
    each(region, [](Byte& byte) { byte.valid = true; });
  }
  void take_dirty() {
    for (Byte& byte : bytes_) {
      byte.valid = byte.valid || byte.dirty;
      byte.in_flight = byte.in_flight || byte.dirty;
      byte.dirty = false;
    }
  }
  void settle(bool stored) {
    for (Byte& byte : bytes_) {
      byte.dirty = byte.dirty || (byte.in_flight && !stored);
      byte.in_flight = false;
    }
  }
  void drop_clean() {
    for (Byte& byte : bytes_) byte.valid = byte.in_flight;
  }
  void reset() { std::fill(bytes_.begin(), bytes_.end(), Byte{}); }
  void repair() {
    settle(false);
    drop_clean();
  }
  void truncate(int64_t length) {
    each({length, size() - length}, [](Byte& byte) { byte = {}; });
  }
  // A kind without enough room has forgotten these.
  void forget(const Regions& regions) {
    for (const Extent region : regions) each(region, [](Byte& byte) { byte.valid = false; });
  }

  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  Regions dirty() const {
    return runs({0, size()}, [](const Byte& byte) { return byte.dirty; });
  }
  Regions in_flight() const {
    return runs({0, size()}, [](const Byte& byte) { return byte.in_flight; });
  }
  Regions unsaved() const {
    return runs({0, size()}, [](const Byte& byte) { return byte.unsaved(); });
  }
  bool unsaved(int64_t offset) const { return bytes_[std::size_t(offset)].unsaved(); }
  Regions missing(Extent region) const {
    return runs(region, [](const Byte& byte) { return !byte.held(); });
  }
  int64_t regions() const {
    const auto clean = runs({0, size()}, [](const Byte& b) { return b.valid && !b.unsaved(); });
    return static_cast<int64_t>(clean.size() + dirty().size() + in_flight().size());
  }

 private:
  struct Byte {
    bool valid = false;
    bool dirty = false;
    bool in_flight = false;
    bool unsaved() const { return dirty || in_flight; }
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

inline std::string text(const Regions& regions) {
  std::string out;
  for (const Extent region : regions) {
    out += "[" + std::to_string(region.offset) + "+" + std::to_string(region.length) + "]";
  }
  return out;
}

// A page of one kind and its model. Every change is made to both, and compared.
class Pair {
 public:
  Pair(const PageKind& kind, int64_t page_size)
      : kind_(kind), size_(page_size), model_(page_size), state_(words(), ~uint64_t{0}) {
    kind_.reset(state(), size_);
  }
  // Continues with a state that `model` describes.
  Pair(const PageKind& kind, Model model, const void* state)
      : kind_(kind), size_(model.size()), model_(std::move(model)), state_(words(), ~uint64_t{0}) {
    std::memcpy(state_.data(), state, kind_.state_bytes(size_));
    check("the state given");
  }

  const Model& model() const { return model_; }
  const void* state() const { return state_.data(); }

  void publish(Extent region) {
    bool published = kind_.publish(state(), size_, region);
    if (!published) {
      EXPECT_GE(model_.regions(), remembered_regions(size_) / 2) << "refused too early";
      check("a refused publish");
    }
    if (!published && in_flight()) {
      settle(true);
      published = kind_.publish(state(), size_, region);
    }
    if (!published) {
      take_dirty();
      settle(true);
      ASSERT_TRUE(kind_.publish(state(), size_, region)) << "refused after a commit";
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

  void settle(bool stored) {
    kind_.settle(state(), size_, stored);
    model_.settle(stored);
    check(stored ? "settle, stored" : "settle, not stored");
  }

  void repair() {
    kind_.repair(state(), size_);
    model_.repair();
    check("repair");
  }

  bool in_flight() const { return !model_.in_flight().empty(); }

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
    Regions unsaved{{size_, 1}};
    kind_.unsaved(state(), size_, unsaved);
    EXPECT_EQ(unsaved.front(), (Extent{size_, 1})) << "does not append";
    unsaved.erase(unsaved.begin());
    EXPECT_EQ(text(unsaved), text(model_.unsaved()));
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

inline void random_operation(Pair& pair, RegionSource& source) {
  const Extent region = source.next();
  switch (source.below(20)) {
    case 0:
    case 1:
    case 2:
      if (pair.in_flight()) {
        pair.settle(source.below(2) == 0);
      } else {
        pair.take_dirty();
      }
      break;
    case 3:
      pair.drop_clean();
      break;
    case 4:
      pair.truncate(source.below(pair.model().size() + 1));
      break;
    case 5:
    case 6:
    case 7:
      pair.fill(region);
      break;
    case 8:
    case 9:
      pair.look(region);
      break;
    case 10:
      if (source.below(4) == 0) pair.repair();
      break;
    default:
      pair.publish(region);
  }
}

}  // namespace forebay::test
