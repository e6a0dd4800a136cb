// The cost of walking a view: nanoseconds per run, to place a cursor, and to map an offset back;
// and the memory of the layout. Best of several repetitions.
//
//   layout_walk [REPETITIONS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "extent/layout.h"

namespace {

using forebay::Cursor;
using forebay::Extent;
using forebay::Layout;
using forebay::LayoutRef;
using forebay::Tiling;

struct Case {
  const char* name;
  Tiling view;
};

std::vector<int64_t> irregular_displacements(int64_t count, int64_t least, int64_t most) {
  std::mt19937_64 random(1);
  std::vector<int64_t> displacements(count);
  int64_t at = 0;
  for (int64_t& displacement : displacements) {
    displacement = at;
    at += std::uniform_int_distribution<int64_t>(least, most)(random);
  }
  return displacements;
}

std::vector<int64_t> irregular_lengths(int64_t count) {
  std::mt19937_64 random(2);
  std::vector<int64_t> lengths(count);
  for (int64_t& length : lengths) length = std::uniform_int_distribution<int64_t>(1, 8)(random);
  return lengths;
}

// A subarray of `lengths` elements of `bytes`, at the origin of an array of `sizes` elements.
LayoutRef subarray(const std::vector<int64_t>& sizes, const std::vector<int64_t>& lengths,
                   int64_t bytes) {
  LayoutRef layout = Layout::block(bytes);
  int64_t stride = bytes;
  for (std::size_t i = sizes.size(); i-- > 0; stride *= sizes[i])
    layout = Layout::repeat(lengths[i], stride, layout);
  return layout;
}

std::vector<Case> cases() {
  constexpr int64_t million = 1'000'000;
  const LayoutRef field = Layout::structure({0, 16}, {Layout::block(8), Layout::block(4)});
  const LayoutRef tile = subarray({64, 64, 64}, {8, 8, 8}, 8);
  const LayoutRef pair = Layout::repeat(2, 16, Layout::block(8));
  return {
      {"interleaved records", {Layout::block(300), 0, 1200}},
      {"vector, 10M blocks",
       {Layout::repeat(10 * million, 16, Layout::block(8)), 0, 160 * million}},
      {"subarray 3-D, rows of 64", {subarray({512, 512, 512}, {64, 64, 64}, 8), 0, 1 << 30}},
      {"subarray 3-D, rows of 4", {subarray({512, 512, 512}, {256, 4, 4}, 8), 0, 1 << 30}},
      {"indexed block, 1M",
       {Layout::indexed(irregular_displacements(million, 16, 64), std::vector<int64_t>(million, 1),
                        8, Layout::block(8)),
        0, 64 * million}},
      {"indexed, 1M",
       {Layout::indexed(irregular_displacements(million, 72, 128), irregular_lengths(million), 8,
                        Layout::block(8)),
        0, 128 * million}},
      {"indexed of vectors, 1M",
       {Layout::indexed(irregular_displacements(million, 320, 400), irregular_lengths(million), 40,
                        pair),
        0, 400 * million}},
      {"structure of two fields", {field, 0, 24}},
      {"array of structures", {Layout::repeat(million, 32, field), 0, 32 * million}},
      {"structure of arrays",
       {Layout::structure({0, 1 << 20, 1 << 21}, {tile, field, Layout::shifted(4, tile)}), 0,
        1 << 23}},
  };
}

volatile int64_t sink;  // keeps the compiler from removing what is measured

template <typename Work>
double best_ns(int repetitions, int64_t units, const Work& work) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count() / static_cast<double>(units));
  }
  return best;
}

void measure(const Case& what, int repetitions) {
  constexpr int64_t runs = 2'000'000;
  constexpr int64_t starts = 100'000;
  const Tiling& view = what.view;
  const double run_ns = best_ns(repetitions, runs, [&] {
    Cursor cursor(view, 0);
    int64_t sum = 0;
    for (int64_t i = 0; i < runs; ++i) {
      const Extent run = cursor.next(1 << 20);
      sum += run.offset ^ run.length;
    }
    sink = sum;
  });
  std::mt19937_64 random(3);
  std::vector<int64_t> positions(starts);
  for (int64_t& position : positions)
    position = static_cast<int64_t>(random() % (4 * static_cast<uint64_t>(view.layout->size())));
  const double start_ns = best_ns(repetitions, starts, [&] {
    int64_t sum = 0;
    for (const int64_t position : positions) sum += view.offset_of(position);
    sink = sum;
  });
  std::vector<int64_t> offsets;
  for (const int64_t position : positions) offsets.push_back(view.offset_of(position));
  const double inverse_ns = best_ns(repetitions, starts, [&] {
    int64_t sum = 0;
    for (const int64_t offset : offsets) sum += view.data_below(offset);
    sink = sum;
  });
  std::printf("%-26s %8.1f %8.1f %8.1f %12lld\n", what.name, run_ns, start_ns, inverse_ns,
              static_cast<long long>(view.layout->description_bytes()));
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  std::printf("%-26s %8s %8s %8s %12s\n", "view", "ns/run", "ns/start", "ns/back", "bytes kept");
  for (const Case& what : cases()) measure(what, repetitions);
  return 0;
}
