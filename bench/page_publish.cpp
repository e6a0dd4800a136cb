// The cost of the operations of page kinds: one line per kind, nanoseconds per operation, the best
// of several repetitions.
//
//   page_publish [PAGE_BYTES]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "page/page_kind.h"

namespace {

using forebay::Extent;
using forebay::PageKind;
using forebay::Regions;

constexpr int64_t record_bytes = 300;
constexpr int repetitions = 200;

double nanoseconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return spent.count();
}

class Page {
 public:
  Page(const PageKind& kind, int64_t size)
      : kind_(kind), size_(size), state_(kind.state_bytes(size) / sizeof(uint64_t)) {
    kind_.reset(state_.data(), size_);
    regions_.reserve(static_cast<std::size_t>(size));
  }

  // Publishes every `every`-th record of the page, in order.
  void publish_records(int64_t every = 1) {
    for (int64_t i = 0; i < records(); i += every) {
      kind_.publish(state_.data(), size_, {i * record_bytes, record_bytes});
    }
  }
  void publish_all() { kind_.publish(state_.data(), size_, {0, size_}); }
  void look_at_records() {
    for (int64_t i = 0; i < records(); ++i) {
      held_ += kind_.holds(state_.data(), size_, {i * record_bytes, record_bytes});
    }
  }
  void look_for_dirty() { held_ += kind_.any_dirty(state_.data(), size_); }
  void take() {
    regions_.clear();
    kind_.take_dirty(state_.data(), size_, regions_);
  }
  void settle() { kind_.settle(state_.data(), size_, true); }
  void reset() { kind_.reset(state_.data(), size_); }
  int64_t held() const { return held_; }
  int64_t records() const { return size_ / record_bytes; }

 private:
  const PageKind& kind_;
  const int64_t size_;
  std::vector<uint64_t> state_;
  Regions regions_;
  int64_t held_ = 0;
};

using Work = void (*)(Page&);

// The best time of `work`, each time on an empty page changed by `prepare`.
double best(const PageKind& kind, int64_t size, Work prepare, Work work) {
  Page page(kind, size);
  double least = 1e18;
  for (int i = 0; i < repetitions; ++i) {
    page.reset();
    prepare(page);
    least = std::min(least, nanoseconds([&] { work(page); }));
  }
  // The result does not depend on what was read, but the compiler must not see that.
  return page.held() < 0 ? 0 : least;
}

void measure(const PageKind& kind, int64_t size) {
  const double records = static_cast<double>(size / record_bytes);
  const Work nothing = [](Page&) {};
  const Work fill = [](Page& page) { page.publish_all(); };
  const Work sparse = [](Page& page) { page.publish_records(4); };
  const Work publish = [](Page& page) { page.publish_records(); };
  const Work look = [](Page& page) { page.look_at_records(); };
  const Work take = [](Page& page) { page.take(); };
  const Work on_its_way = [](Page& page) {
    page.publish_all();
    page.take();
  };
  const Work settle = [](Page& page) { page.settle(); };
  const Work any = [](Page& page) { page.look_for_dirty(); };
  std::printf("%-8s %9.1f %9.1f %9.1f %12.0f %12.0f %12.0f %12.0f %12.0f\n",
              std::string(kind.name()).c_str(), best(kind, size, nothing, publish) / records,
              best(kind, size, fill, publish) / records, best(kind, size, fill, look) / records,
              best(kind, size, nothing, take), best(kind, size, sparse, take),
              best(kind, size, fill, take), best(kind, size, on_its_way, settle),
              best(kind, size, nothing, any));
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t size = argc > 1 ? std::atoll(argv[1]) : 65536;
  if (size < forebay::smallest_page_size || size % forebay::page_size_step != 0) {
    std::fprintf(stderr, "page_publish: a page is a multiple of 64 bytes, at least 512\n");
    return 2;
  }
  std::printf("page of %lld bytes, records of 300 bytes; ns a record, then ns a page\n",
              static_cast<long long>(size));
  std::printf("%-8s %9s %9s %9s %12s %12s %12s %12s %12s\n", "kind", "publish", "again", "holds",
              "take clean", "take sparse", "take full", "settle", "any_dirty");
  for (const PageKind* kind : forebay::page_kinds()) measure(*kind, size);
}
