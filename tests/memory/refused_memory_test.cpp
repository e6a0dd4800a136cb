// The cache when memory is refused: each allocation in turn, once and from then on. No exception
// leaves the cache; a failing call says so; the contract of writes holds; and nothing stays locked
// or closed, because the file is opened and committed again afterwards. A program of its own,
// because it replaces operator new.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "page/page_kind.h"
#include "runtime/cache/cached_file.h"
#include "unit/expectation.h"
#include "unit/temporary_file.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> until_refusal{0};  // allocations still granted
std::atomic<bool> for_ever{false};

bool refused() {
  if (!counting.load()) return false;
  const int64_t left = until_refusal.fetch_sub(1);
  return left == 0 || (left < 0 && for_ever.load());
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (refused()) return nullptr;
  return alignment == 0 ? std::malloc(bytes)
                        : std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment = 0) {
  void* const memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 0); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace forebay::runtime {
namespace {

constexpr int64_t file_bytes = 40'000;
constexpr unsigned patience_seconds = 300;  // for a run that would otherwise wait for ever

class RefusedMemory : public ::testing::TestWithParam<std::string> {
 protected:
  RefusedMemory() { alarm(patience_seconds); }
  ~RefusedMemory() override {
    leave_node();
    alarm(0);
  }

  Options options(bool background) const {
    Options options;
    options.job = "memory-" + std::to_string(getpid());
    options.committer = false;
    options.page_kind = GetParam();
    options.page_size_bytes = 1024;
    options.cache_size_bytes = 8 * 1024;  // evictions throughout
    options.commit_size_bytes = 2 * 1024;
    options.read_ahead_bytes = background ? 4 * 1024 : 0;
    options.write_behind = background;
    options.write_back_buffer = background ? 0.25 : 0;
    return options;
  }

  // Returns what `call` returns, with memory refused as requested.
  template <typename Call>
  auto with_refusals(Call call) {
    counting.store(true);
    auto result = call();
    counting.store(false);
    return result;
  }

  // One run. Returns whether an allocation was refused.
  bool meets(int64_t nth, bool on, bool background) {
    test::TemporaryFile disk;
    const Options chosen = options(background);
    test::Expectation expected(file_bytes);
    until_refusal.store(nth - 1);
    for_ever.store(on);
    Status status;
    auto file = with_refusals(
        [&] { return CachedFile::open(disk.path(), OpenMode::read_write, chosen, &status); });
    EXPECT_EQ(file != nullptr, status.ok());
    if (file != nullptr) {
      use(*file, expected);
      const Status closed = with_refusals([&] { return file->close(false); });
      EXPECT_TRUE(closed.ok() || closed.code == Code::no_memory);
    } else {
      EXPECT_EQ(status.code, Code::no_memory);
    }
    file.reset();
    const bool met = until_refusal.load() < 0;
    auto again = CachedFile::open(disk.path(), OpenMode::read_write, chosen, &status);
    EXPECT_NE(again, nullptr);
    if (again != nullptr) {
      EXPECT_TRUE(again->close(false).ok());
    }
    leave_node();
    const std::string content = disk.content();
    EXPECT_TRUE(expected.allows(0, reinterpret_cast<const std::byte*>(content.data()),
                                static_cast<int64_t>(content.size())));
    return met;
  }

  void use(CachedFile& file, test::Expectation& expected) {
    std::mt19937 random(7);
    for (int step = 0; step < 60; ++step) {
      const auto length = static_cast<int64_t>(1 + random() % 3000);
      const auto offset = static_cast<int64_t>(random() % (file_bytes - 3000));
      std::vector<std::byte> bytes(static_cast<std::size_t>(length));
      Status status;
      if (step % 3 != 2) {
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(1 + random() % 255);
        status = with_refusals([&] { return file.write(offset, bytes.data(), length); });
        expected.written(offset, bytes, status.ok());
      } else {
        int64_t got = 0;
        status = with_refusals([&] { return file.read(offset, bytes.data(), length, &got); });
        if (status.ok()) {
          EXPECT_TRUE(expected.allows(offset, bytes.data(), got));
        }
      }
      EXPECT_TRUE(status.ok() || status.code == Code::no_memory);
      if (step % 25 == 24) {
        status = with_refusals([&] { return file.commit(); });
        EXPECT_TRUE(status.ok() || status.code == Code::no_memory);
        with_refusals([&] {
          file.drop_clean();
          return true;
        });
      }
    }
  }
};

TEST_P(RefusedMemory, EveryAllocationInTurn) {
  for (const bool on : {false, true}) {
    for (const bool background : {false, true}) {
      int64_t nth = 1;
      const int64_t stride = on ? 41 : background ? 13 : GetParam() == "mask" ? 1 : 5;
      for (; !HasFailure() && meets(nth, on, background); nth += stride) {
      }
      ASSERT_FALSE(HasFailure()) << "the " << nth << "th allocation" << (on ? ", for ever" : "")
                                 << (background ? ", background" : "");
      EXPECT_GT(nth, 100);
    }
  }
}

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const PageKind* kind : page_kinds()) names.emplace_back(kind->name());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Kinds, RefusedMemory, ::testing::ValuesIn(kinds()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace forebay::runtime
