// Each of Yin's classes, and the notation of the papers' examples.
#include "pattern/classify.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "pattern/notation.h"
#include "unit/pattern/program.h"

namespace forebay::pattern {
namespace {

using test::AccessList;
using test::fold;
using test::nest;
using test::operations;

constexpr int64_t page = 4096;

Classes classes_of(const AccessList& accesses) {
  return classify(fold(accesses), operations, page);
}

std::string space(const AccessList& accesses) {
  const Classes classes = classes_of(accesses);
  return (classes.backward ? "backward " : "") + std::string(name_of(classes.spatial)) + " " +
         std::to_string(classes.dimension);
}

AccessList random_accesses(int count, bool contiguous, bool one_size) {
  std::mt19937_64 random(2);
  AccessList accesses;
  int64_t offset = 0;
  for (int i = 0; i < count; ++i) {
    const int64_t size = one_size ? 100 : static_cast<int64_t>(1 + random() % 5000);
    if (!contiguous) offset = static_cast<int64_t>(random() % (1 << 30));
    accesses.push_back({offset, size, 0});
    offset += size;
  }
  return accesses;
}

AccessList operator+(AccessList a, const AccessList& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Accesses that repeat a body: its offsets and sizes, and the step of each.
AccessList repeated(int64_t count, const AccessList& body, const std::vector<int64_t>& steps) {
  AccessList accesses;
  for (int64_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < body.size(); ++j) {
      Access access = body[j];
      access.offset += i * steps[j % steps.size()];
      accesses.push_back(access);
    }
  }
  return accesses;
}

TEST(PatternClassify, Space) {
  EXPECT_EQ(space({}), "single 0");
  EXPECT_EQ(space({{500, 10, 0}}), "single 0");
  EXPECT_EQ(space(nest({{100, 64}}, {0, 64, 0})), "contiguous 1");
  EXPECT_EQ(space(nest({{100, 128}}, {0, 64, 0})), "fixed stride 1");
  EXPECT_EQ(space(nest({{100, 32}}, {0, 64, 0})), "fixed stride 1") << "overlapping";
  EXPECT_EQ(space(nest({{100, 0}}, {0, 64, 0})), "same place 0");
  EXPECT_EQ(space(nest({{100, -64}}, {1 << 20, 64, 0})), "backward negative stride 1");
  EXPECT_EQ(space(nest({{10, 5000}, {10, 128}}, {0, 64, 0})), "nested strided 2");
  EXPECT_EQ(space(nest({{10, 5000}, {10, 64}}, {0, 64, 0})), "nested strided 2")
      << "rows without holes";
  EXPECT_EQ(space(nest({{4, 90'000'000}, {5, 800'000}, {6, 6000}, {7, 128}}, {0, 64, 0})),
            "nested strided 4");
  EXPECT_EQ(space(nest({{10, -5000}, {10, 128}}, {1 << 20, 64, 0})), "backward nested strided 2");
  EXPECT_EQ(space(random_accesses(1000, false, true)), "random 0");
}

TEST(PatternClassify, SpaceOfRepetitions) {
  EXPECT_EQ(space(nest({{50, 0}, {100, 64}}, {0, 64, 0})), "contiguous 1")
      << "the same hundred again";
  EXPECT_EQ(space(nest({{50, 1000}, {4, 0}}, {0, 64, 0})), "fixed stride 1")
      << "each place four times";
}

TEST(PatternClassify, SpaceOfBodies) {
  const AccessList touching{{0, 100, 0}, {100, 50, 0}, {150, 10, 0}};
  EXPECT_EQ(space(repeated(20, touching, {160})), "contiguous 1");
  EXPECT_EQ(space(repeated(20, touching, {1000})), "fixed stride 1");
  EXPECT_EQ(space(repeated(20, touching, {-1000})), "backward negative stride 1");
  const AccessList even{{0, 10, 0}, {100, 10, 0}};
  EXPECT_EQ(space(repeated(20, even, {1000})), "nested strided 2");
  const AccessList header{{0, 16, 0}, {4096, 512, 0}};
  EXPECT_EQ(space(repeated(20, header, {0, 512})), "combination 1");
  const AccessList uneven{{0, 10, 0}, {100, 10, 0}, {700, 10, 0}};
  EXPECT_EQ(space(repeated(20, uneven, {1000})), "combination 1");
}

TEST(PatternClassify, SpaceOfSeveralParts) {
  EXPECT_EQ(space(random_accesses(1000, true, false)), "contiguous 1") << "lengths without a rule";
  const AccessList strided = nest({{100, 128}}, {0, 64, 0});
  EXPECT_EQ(space(strided + nest({{100, 900}}, {1 << 20, 64, 0})), "fixed stride 1");
  EXPECT_EQ(space(strided + nest({{100, 64}}, {1 << 20, 64, 0})), "combination 0");
  EXPECT_EQ(space(strided + random_accesses(4, false, true)), "fixed stride 1")
      << "nearly all of them";
  EXPECT_EQ(space(strided + random_accesses(50, false, true)), "combination 0");
  EXPECT_EQ(space(strided + random_accesses(150, false, true)), "random 0");
}

TEST(PatternClassify, RequestSizes) {
  const auto magnitude = [](int64_t size) {
    return classes_of(nest({{10, 1 << 20}}, {0, size, 0})).magnitude;
  };
  EXPECT_EQ(magnitude(page - 1), Magnitude::small);
  EXPECT_EQ(magnitude(page), Magnitude::medium);
  EXPECT_EQ(magnitude(page + 1), Magnitude::large);
  const AccessList two{{0, 100, 0}, {9000, 9000, 0}};
  EXPECT_EQ(classes_of(repeated(10, two, {1 << 20})).magnitude, Magnitude::mixed);

  EXPECT_EQ(classes_of(nest({{10, 8192}}, {0, 100, 0})).sizes, Sizes::fixed);
  EXPECT_EQ(classes_of(repeated(10, two, {1 << 20})).sizes, Sizes::patterned);
  AccessList growing;
  for (int64_t i = 0; i < 20; ++i) growing.push_back({i * 100'000, 3000 + 100 * i, 0});
  EXPECT_EQ(classes_of(growing).sizes, Sizes::patterned);
  EXPECT_EQ(classes_of(growing).magnitude, Magnitude::mixed) << "it grows past a page";
  EXPECT_EQ(classes_of(random_accesses(100, false, true)).sizes, Sizes::fixed);
  EXPECT_EQ(classes_of(random_accesses(100, false, false)).sizes, Sizes::variable);
}

TEST(PatternClassify, Repetition) {
  EXPECT_EQ(classes_of({{0, 10, 0}}).repetitions, 1u);
  EXPECT_EQ(classes_of(nest({{70, 128}}, {0, 64, 0})).repetitions, 70u);
  EXPECT_EQ(classes_of(random_accesses(100, false, true)).repetitions, 1u);
}

TEST(PatternClassify, Direction) {
  EXPECT_EQ(classes_of(nest({{10, 64}}, {0, 64, 0})).direction, Direction::read);
  EXPECT_EQ(classes_of(nest({{10, 64}}, {0, 64, 1})).direction, Direction::write);
  EXPECT_EQ(classes_of(repeated(10, {{0, 8, 0}, {0, 8, 1}}, {64})).direction,
            Direction::read_and_write);
  EXPECT_EQ(classes_of({{5, 8, 1}}).direction, Direction::write);
}

// `interval_ns(i)`: from access i to the next.
template <typename Interval>
Signature timed(int64_t count, const Interval& interval_ns) {
  Folder folder;
  int64_t now_ns = 0;
  for (int64_t i = 0; i < count; ++i) {
    folder.add({i * 100, 10, 0}, now_ns, now_ns + 5);
    now_ns += interval_ns(i);
  }
  return folder.finish();
}

TEST(PatternClassify, Time) {
  const auto temporal = [](const Signature& signature) {
    return classify(signature, operations, page).temporal;
  };
  EXPECT_EQ(temporal(timed(100, [](int64_t i) { return 1000 + i % 7; })), Temporal::fixed);
  EXPECT_EQ(temporal(timed(100, [](int64_t i) { return 1000 + i * i; })), Temporal::random);
  EXPECT_EQ(temporal(fold(nest({{100, 64}}, {0, 64, 0}))), Temporal::unknown);
}

// Yin V.A: the local trace signature of PIO-Bench, nested strided. (The paper's text closes a
// parenthesis that it did not open.)
TEST(PatternNotation, YinNestedStrided) {
  const std::array<Operation, 1> names{{{"MPI_READALL", false}}};
  Folder folder;
  for (int64_t i = 0; i < 100; ++i) {
    folder.add({i * 32768, 4096, 0}, i * 1000, i * 1000 + 10);
    folder.add({i * 32768 + 8192, 4096, 0}, i * 1000 + 400, i * 1000 + 410);
  }
  const Signature signature = folder.finish();
  EXPECT_EQ(trace_signature(signature, "file_id", names),
            "{MPI_READALL, file_id, 0, 2, ({0, 32768, 1}, 4096, 1, fixed_interval), "
            "[{8192, 32768, 1}, 4096, 1, fixed_interval], 100, 1}\n");
  EXPECT_EQ(pattern_signature(classify(signature, names, page)),
            "{read, <nested strided, 2>, <repeated 100>, <medium, fixed>, <fixed>}");
}

// Yin V.B: IOR, contiguous, as printed in the paper.
TEST(PatternNotation, YinContiguous) {
  const std::array<Operation, 1> names{{{"MPI_READAT", false}}};
  Folder folder;
  for (int64_t i = 0; i < 65536; ++i) folder.add({i * 65536, 65536, 0}, i * 1000, i * 1000 + 10);
  const Signature signature = folder.finish();
  EXPECT_EQ(trace_signature(signature, "file_id", names),
            "{MPI_READAT, file_id, 0, 1, ({0, 65536, 1}, 65536, 1, fixed_interval), 65536, 1}\n");
  EXPECT_EQ(pattern_signature(classify(signature, names, page)),
            "{read, <contiguous, 1>, <repeated 65536>, <large, fixed>, <fixed>}");
}

TEST(PatternNotation, ALoopInALoop) {
  EXPECT_EQ(trace_signature(fold(nest({{10, 5000}, {8, 128}}, {700, 64, 1})), "f", operations),
            "{WRITE, f, 700, 2, (({700, 128/5000, 1}, 64, 1), 8), 10, 1}\n");
}

TEST(PatternNotation, WhatStaysIsARepetition) {
  EXPECT_EQ(trace_signature(fold(nest({{10, 5000}, {8, 0}}, {700, 64, 1})), "f", operations),
            "{WRITE, f, 700, 1, ({700, 5000, 1}, 64, 8), 10, 1}\n");
  EXPECT_EQ(trace_signature(fold(nest({{10, 0}, {8, 128}}, {700, 64, 1})), "f", operations),
            "{WRITE, f, 700, 1, ({700, 128, 1}, 64, 1), 8, 10}\n");
}

TEST(PatternNotation, UnlikeAccesses) {
  AccessList accesses;
  for (int64_t i = 0; i < 9; ++i) {
    accesses.push_back({0, 16, 0});
    accesses.push_back({4096 + 512 * i, 100 + 8 * i, 1});
  }
  EXPECT_EQ(trace_signature(fold(accesses), "f", operations),
            "{READ+WRITE, f, 0, 1, (READ {0, 0, 1}, 16, 1), "
            "[WRITE {4096, 512, 1}, {100, 8}, 1], 9, 1}\n");
}

TEST(PatternNotation, WhatFollowsNoPattern) {
  EXPECT_EQ(trace_signature(fold({{5, 1, 0}, {900, 77, 3}}), "f", operations),
            "{READ+operation_3, f, 5, 0, random, 2, 1}\n");
  EXPECT_EQ(trace_signature(fold({{5, 1, 0}}, {.raw_bytes = 0}), "f", operations),
            "{lost, f, 1}\n");
}

}  // namespace
}  // namespace forebay::pattern
