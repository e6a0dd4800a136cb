// Lock-free page kinds while some threads publish and another takes dirty regions: no byte is lost,
// and published bytes are always seen to be held. Bytes are relaxed atomics here, so that the
// thread sanitizer does not report the intended race: readers of a byte that is being overwritten.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "page/page_kind.h"
#include "unit/page/model.h"

namespace forebay {
namespace {

// Small, so that threads often share words.
constexpr int64_t shared_page_size = 512;
constexpr int episodes = 4000;
constexpr int writes_an_episode = 30;
constexpr int rounds = 10000;
constexpr int publishers = 3;

using Bytes = std::vector<std::atomic<uint8_t>>;

class Shared {
 public:
  explicit Shared(const PageKind& kind)
      : kind_(kind), state_(kind.state_bytes(shared_page_size) / sizeof(uint64_t)) {
    kind_.reset(state_.data(), shared_page_size);
  }

  void write(Extent region, uint8_t value) {
    for (int64_t i = region.offset; i < region.end(); ++i) {
      page_[std::size_t(i)].store(value, std::memory_order_relaxed);
    }
    EXPECT_TRUE(kind_.publish(state_.data(), shared_page_size, region));
  }
  // Commits what is dirty, like the holder of the shard's lock.
  void commit() {
    Regions taken;
    if (++commits_ % 3 == 0) {  // one in three fails
      kind_.take_dirty(state_.data(), shared_page_size, taken);
      kind_.settle(state_.data(), shared_page_size, false);
      taken.clear();
    }
    kind_.take_dirty(state_.data(), shared_page_size, taken);
    for (const Extent region : taken) {
      for (int64_t i = region.offset; i < region.end(); ++i) {
        storage_[std::size_t(i)] = page_[std::size_t(i)].load(std::memory_order_relaxed);
      }
    }
    kind_.settle(state_.data(), shared_page_size, true);
  }
  bool holds(Extent region) const { return kind_.holds(state_.data(), shared_page_size, region); }
  void fill(Extent region) { kind_.fill(state_.data(), shared_page_size, region); }
  bool any_dirty() const { return kind_.any_dirty(state_.data(), shared_page_size); }

  int64_t bytes_that_differ(Extent region = {0, shared_page_size}) const {
    int64_t count = 0;
    for (int64_t i = region.offset; i < region.end(); ++i) {
      count += page_[std::size_t(i)].load() != storage_[std::size_t(i)];
    }
    return count;
  }

 private:
  const PageKind& kind_;
  std::vector<uint64_t> state_;
  int64_t commits_ = 0;
  Bytes page_ = Bytes(shared_page_size);
  std::vector<uint8_t> storage_ = std::vector<uint8_t>(shared_page_size);
};

class PageConcurrency : public testing::TestWithParam<const PageKind*> {};

INSTANTIATE_TEST_SUITE_P(Kinds, PageConcurrency, testing::ValuesIn(test::lock_free_kinds()),
                         [](const auto& param) { return std::string(param.param->name()); });

// In each episode publishers write a few regions, given by `choose`, while this thread commits.
// Afterwards the bytes in storage must be those of the page. Episodes are short, because the next
// write to a byte would hide an earlier loss.
void publish_and_commit(Shared& page, const std::function<Extent(int, std::mt19937_64&)>& choose) {
  int64_t lost = 0;
  std::barrier begin(publishers + 1);
  std::barrier end(publishers + 1, [&]() noexcept {
    page.commit();
    lost += page.bytes_that_differ();
  });
  std::vector<std::thread> threads;
  for (int who = 0; who < publishers; ++who) {
    threads.emplace_back([&, who] {
      std::mt19937_64 random(static_cast<uint64_t>(who) + 1);
      for (int episode = 0; episode < episodes; ++episode) {
        begin.arrive_and_wait();
        for (int i = 0; i < writes_an_episode; ++i) {
          const Extent region = choose(who, random);
          page.write(region, static_cast<uint8_t>(random()));
          EXPECT_TRUE(page.holds(region));
        }
        end.arrive_and_wait();
      }
    });
  }
  for (int episode = 0; episode < episodes; ++episode) {
    begin.arrive_and_wait();
    for (int i = 0; i < writes_an_episode; ++i) page.commit();
    end.arrive_and_wait();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(page.any_dirty());
  EXPECT_EQ(lost, 0);
}

Extent anywhere(std::mt19937_64& random, int64_t longest) {
  const auto offset = static_cast<int64_t>(random() % shared_page_size);
  const auto length = static_cast<int64_t>(1 + random() % uint64_t(longest));
  return {offset, std::min(length, shared_page_size - offset)};
}

TEST_P(PageConcurrency, OverlappingRegionsAreAllCommitted) {
  Shared page(*GetParam());
  publish_and_commit(page, [](int, std::mt19937_64& random) { return anywhere(random, 100); });
}

// Records of 50 bytes, assigned to the publishers in turn: they share words, but no bytes.
TEST_P(PageConcurrency, InterleavedRecordsAreAllCommitted) {
  Shared page(*GetParam());
  publish_and_commit(page, [](int who, std::mt19937_64& random) {
    const auto record = static_cast<int64_t>(random() % (shared_page_size / 50 / publishers));
    return Extent{(record * publishers + who) * 50, 50};
  });
}

// Spins first, so that both threads continue at nearly the same time if there are two cores.
void wait_until(const std::atomic<int>& counter, int value) {
  for (int spins = 0; counter < value; ++spins) {
    if (spins > 2000) std::this_thread::yield();
  }
}

// A byte that is already dirty is written again at the moment when it is taken. A publish that
// tested its bit before setting it would be lost here, because the test can overtake the bytes.
TEST_P(PageConcurrency, BytesRewrittenWhileTakenAreCommitted) {
  const Extent region{0, 64 * 7 + 8};  // several cache lines to wait for, and a shared last word
  Shared page(*GetParam());
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  std::thread writer([&] {
    for (int i = 1; i <= rounds; ++i) {
      wait_until(begun, i);
      page.write(region, static_cast<uint8_t>(i));
      ended = i;
    }
  });
  int64_t lost = 0;
  for (int i = 1; i <= rounds; ++i) {
    page.write(region, static_cast<uint8_t>(i + 1));
    begun = i;
    for (int delay = i % 128; delay > 0; --delay)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    page.commit();
    wait_until(ended, i);
    page.commit();
    lost += page.bytes_that_differ(region) != 0;
  }
  writer.join();
  EXPECT_EQ(lost, 0);
}

TEST_P(PageConcurrency, WhatWasPublishedIsAlwaysHeld) {
  Shared page(*GetParam());
  page.write({0, shared_page_size}, 1);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    std::mt19937_64 random(5);
    while (!stop) {
      const Extent region = anywhere(random, shared_page_size);
      EXPECT_TRUE(page.holds(region));
    }
  });
  std::thread writer([&] {
    std::mt19937_64 random(6);
    for (int i = 0; i < rounds; ++i) page.write(anywhere(random, 300), uint8_t(i));
    stop = true;
  });
  while (!stop) {
    page.commit();
    page.fill({100, 300});
  }
  reader.join();
  writer.join();
}

}  // namespace
}  // namespace forebay
