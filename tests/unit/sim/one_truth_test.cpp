// The simulator of the runtime's cache has the runtime's counts after every step of random
// programs: every policy and page kind, with random page sizes, capacities, shards and options.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/cache/cached_file.h"
#include "runtime/cache/handle_rules.h"
#include "sim/instant_cache.h"
#include "unit/temporary_file.h"

namespace forebay::runtime {
namespace {

using sim::CacheSettings;
using sim::InstantCache;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(bound));
  }
  bool one_in(int64_t times) { return below(times) == 0; }
  template <typename Choices>
  auto of(const Choices& choices) {
    return *(std::begin(choices) + below(std::ssize(choices)));
  }

 private:
  std::mt19937_64 engine_;
};

// Runs the same program on both.
class Twins {
 public:
  Twins(const std::string& policy, const std::string& kind, Random& random) : random_(random) {
    constexpr int64_t page_sizes[] = {512, 1024, 4096, 16384, 576};
    options_.deterministic = true;
    options_.policy = policy;
    options_.page_kind = kind;
    options_.predictor = random.of(predictors()).name;
    options_.page_size_bytes = random.of(page_sizes);
    options_.cache_size_bytes = options_.page_size_bytes * (1 + random.below(60));
    options_.shards = random.below(4);
    options_.bypass_bytes = options_.page_size_bytes / 2 + random.below(20000);
    options_.commit_size_bytes = 1 + random.below(64 << 10);
    options_.read_ahead_bytes = random.one_in(3) ? 0 : random.below(64 << 10);
    options_.dirty_bound = static_cast<double>(random.below(101)) / 100;
    options_.write_behind = !random.one_in(4);
    options_.write_back_buffer =
        random.one_in(2) ? 0 : 0.3;  // of no effect: nothing is in the background
    CacheSettings settings;
    settings.shape = {find_page_kind(kind), find_policy(policy), options_.page_size_bytes,
                      options_.cache_size_bytes, options_.shards};
    settings.handles = rules_of(options_);
    settings.commit_size_bytes = options_.commit_size_bytes;
    simulated_.emplace(settings);
    for (std::size_t i = 0; i < handles_.size(); ++i) open(i);
  }
  ~Twins() {
    for (const Handle& handle : handles_) EXPECT_TRUE(handle.file->close(false).ok());
    leave_node();
  }

  void step() {
    const std::size_t i = static_cast<std::size_t>(random_.below(std::ssize(handles_)));
    Handle& handle = handles_[i];
    if (random_.one_in(60)) return close(i);
    if (random_.one_in(60)) {
      const bool own = random_.one_in(2);
      ASSERT_TRUE((own ? handle.file->commit_own() : handle.file->commit()).ok());
      return simulated_->commit(handle.simulated, own);
    }
    if (random_.one_in(80)) {
      const auto number = static_cast<uint32_t>(random_.below(3));
      handle.file->write_as(number);
      return simulated_->write_as(handle.simulated, number);
    }
    if (random_.one_in(60)) {
      handle.file->drop_clean();
      return simulated_->drop_clean(handle.simulated);
    }
    if (random_.one_in(80)) return resize(handle);
    if (random_.one_in(20)) return read_records(handle);
    const int64_t length = random_.one_in(20) ? 1 + random_.below(30000) : 1 + random_.below(2000);
    if (random_.one_in(3)) run_at_ = random_.below(60000);
    if (random_.one_in(2)) {
      write(handle, {run_at_, length});
    } else {
      read(handle, {run_at_, length});
    }
    run_at_ += length;
  }

  void compare() const {
    Statistics real = closed_;
    for (const Handle& handle : handles_) real.add(handle.file->statistics());
    const Statistics& simulated = simulated_->statistics();
    EXPECT_EQ(simulated.hits, real.hits);
    EXPECT_EQ(simulated.misses, real.misses);
    EXPECT_EQ(simulated.evictions, real.evictions);
    EXPECT_EQ(simulated.committed_bytes, real.committed_bytes);
    EXPECT_EQ(simulated.fetched_bytes, real.fetched_bytes);
    EXPECT_EQ(simulated.bypass_bytes, real.bypass_bytes);
    EXPECT_EQ(simulated.bypass_calls, real.bypass_calls);
    EXPECT_EQ(simulated.read_requests, real.read_requests);
  }

 private:
  struct Handle {
    std::unique_ptr<CachedFile> file;
    InstantCache::HandleIndex simulated = 0;
    std::size_t disk = 0;
  };

  static Access contiguous(Extent extent, bool writes) {
    return {writes, false, nullptr, extent.offset, extent.length};
  }
  void write(Handle& handle, Extent extent) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(extent.length));
    ASSERT_TRUE(handle.file->write(extent.offset, bytes.data(), extent.length).ok());
    simulated_->access(handle.simulated, contiguous(extent, true));
  }
  void read(Handle& handle, Extent extent) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(extent.length));
    int64_t got = 0;
    ASSERT_TRUE(handle.file->read(extent.offset, bytes.data(), extent.length, &got).ok());
    EXPECT_EQ(simulated_->access(handle.simulated, contiguous(extent, false)), got);
  }
  // A few variables of each record: a loop that the signature predictor recognises.
  void read_records(Handle& handle) {
    std::vector<Extent> variables;
    for (int64_t left = 1 + random_.below(4); left > 0; --left) {
      variables.push_back({random_.below(8000), 1 + random_.below(500)});
    }
    const int64_t record_bytes = random_.below(12000);
    for (int64_t record = 0, records = random_.below(9); record < records; ++record) {
      for (const Extent& variable : variables) {
        read(handle, {variable.offset + record * record_bytes, variable.length});
      }
    }
  }
  void open(std::size_t i) {
    Handle& handle = handles_[i];
    handle.disk = static_cast<std::size_t>(random_.below(std::ssize(disks_)));
    const bool reads = !random_.one_in(5);
    Status status;
    handle.file =
        CachedFile::open(disks_[handle.disk].path(),
                         reads ? OpenMode::read_write : OpenMode::write_only, options_, &status);
    ASSERT_NE(handle.file, nullptr) << describe(status.code);
    int64_t bytes = 0;
    ASSERT_TRUE(handle.file->size(&bytes).ok());
    handle.simulated = simulated_->open(handle.disk, reads, bytes);
  }
  void close(std::size_t i) {
    Handle& handle = handles_[i];
    const bool discard = random_.one_in(4);
    ASSERT_TRUE(handle.file->close(discard).ok());
    closed_.add(handle.file->statistics());
    simulated_->close(handle.simulated, discard);
    open(i);
  }
  void resize(Handle& handle) {
    const int64_t bytes = random_.below(70000);
    handle.file->truncate_cache(bytes);
    simulated_->truncate(handle.simulated, bytes);
    ASSERT_EQ(::truncate(disks_[handle.disk].path().c_str(), bytes), 0);
    handle.file->note_own_change();
    simulated_->resize(handle.simulated, bytes);
  }

  Random& random_;
  Options options_;
  std::array<test::TemporaryFile, 2> disks_;
  std::array<Handle, 3> handles_;
  std::optional<InstantCache> simulated_;
  Statistics closed_;
  int64_t run_at_ = 0;
};

class OneTruth : public testing::TestWithParam<std::tuple<const char*, std::string>> {};

std::vector<const char*> policy_names() {
  std::vector<const char*> names;
  for (const PolicySpec& policy : policies()) names.push_back(policy.name);
  return names;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const PageKind* kind : page_kinds()) names.emplace_back(kind->name());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Caches, OneTruth,
                         testing::Combine(testing::ValuesIn(policy_names()),
                                          testing::ValuesIn(kind_names())),
                         [](const auto& param) {
                           return std::get<0>(param.param) + ("_" + std::get<1>(param.param));
                         });

TEST_P(OneTruth, TheSimulatorCountsWhatTheRuntimeCounts) {
  const auto& [policy, kind] = GetParam();
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Twins twins(policy, kind, random);
    for (int step = 0; step < 400 && !HasFailure(); ++step) {
      SCOPED_TRACE(step);
      twins.step();
      twins.compare();
    }
  }
}

}  // namespace
}  // namespace forebay::runtime
