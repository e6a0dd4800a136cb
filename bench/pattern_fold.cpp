// The cost of folding accesses from memory into a signature: millions of accesses per second on one
// core, the best of several repetitions, and the size of the signature.
//
//   pattern_fold [MILLION_ACCESSES]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "pattern/folder.h"

namespace {

using forebay::pattern::Access;
using forebay::pattern::Folder;
using forebay::pattern::Signature;

constexpr int repetitions = 7;

struct Record {
  Access access;
  int64_t start_ns;
  int64_t end_ns;
};

// Accesses at irregular times, as of a program.
class Trace {
 public:
  explicit Trace(std::size_t accesses) : limit_(accesses) { records_.reserve(accesses); }
  bool full() const { return records_.size() == limit_; }
  void add(int64_t offset, int64_t size, uint8_t operation = 0) {
    if (full()) return;
    now_ += 800 + static_cast<int64_t>(random_() % 400);
    records_.push_back({{offset, size, operation}, now_, now_ + 300});
  }
  uint64_t random(uint64_t below) { return random_() % below; }
  const std::vector<Record>& records() const { return records_; }

 private:
  std::size_t limit_;
  std::vector<Record> records_;
  std::mt19937_64 random_{1};
  int64_t now_ = 0;
};

void strided(Trace& trace) {
  for (int64_t i = 0; !trace.full(); ++i) trace.add(i * 16384, 4096);
}
// Repeats five accesses of unlike sizes and steps.
void body(Trace& trace) {
  for (int64_t i = 0; !trace.full(); ++i) {
    trace.add(0, 64);
    for (int64_t j = 0; j < 3; ++j) trace.add(4096 + i * 65536 + j * j * 1000, 100 + j);
    trace.add((int64_t{1} << 40) - i * 256, 256, 1);
  }
}
void nested(Trace& trace) {
  for (int64_t row = 0; !trace.full(); ++row) {
    for (int64_t i = 0; i < 64; ++i) trace.add(row * 1'000'000 + i * 8192, 1024);
  }
}
void short_rows(Trace& trace) {
  for (int64_t plane = 0; !trace.full(); ++plane) {
    for (int64_t row = 0; row < 16; ++row) {
      for (int64_t i = 0; i < 8; ++i)
        trace.add(plane * 100'000'000 + row * 300'000 + i * 8192, 1024);
    }
  }
}
void rows_anywhere(Trace& trace) {
  while (!trace.full()) {
    const auto begin = static_cast<int64_t>(trace.random(1 << 20)) * 1'000'000;
    for (int64_t i = 0; i < 64; ++i) trace.add(begin + i * 8192, 1024);
  }
}
void random_offsets(Trace& trace) {
  while (!trace.full()) trace.add(static_cast<int64_t>(trace.random(int64_t{1} << 40)), 4096);
}

void measure(const char* name, void (*make)(Trace&), std::size_t accesses) {
  Trace trace(accesses);
  make(trace);
  double least = 1e18;
  Signature signature;
  for (int i = 0; i < repetitions; ++i) {
    Folder folder({.raw_bytes = uint64_t{1} << 34, .pattern_bytes = uint64_t{1} << 34});
    const auto begin = std::chrono::steady_clock::now();
    for (const Record& record : trace.records()) {
      folder.add(record.access, record.start_ns, record.end_ns);
    }
    signature = folder.finish();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    least = std::min(least, spent.count());
  }
  std::printf(
      "%-16s %10.1f %10.1f %12zu %10.3f\n", name, 1e-6 * static_cast<double>(accesses) / least,
      1e9 * least / static_cast<double>(accesses), signature.memory_bytes(), signature.coverage());
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t accesses = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4) * 1'000'000;
  std::printf("%-16s %10s %10s %12s %10s\n", "accesses", "million/s", "ns each", "bytes",
              "covered");
  measure("strided", strided, accesses);
  measure("body of five", body, accesses);
  measure("nested", nested, accesses);
  measure("3-d, rows of 8", short_rows, accesses);
  measure("rows anywhere", rows_anywhere, accesses);
  measure("random", random_offsets, accesses);
}
