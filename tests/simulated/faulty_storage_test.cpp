// The storage of the seeded test: what it may do to a transfer, and what not.
#include "simulated/faulty_storage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace forebay::test {
namespace {

using sim::Fibers;

constexpr int64_t length = 100;
constexpr std::size_t requests = 4;

struct Written {
  Status status;
  std::vector<Transfer::Outcome> outcomes;
  std::vector<int64_t> offsets;  // of the pieces, as the file got them
  std::string file;
};

// Four writes in one transfer; the process dies after `dies_after_ns`, if that is positive.
Written write_four(uint64_t seed, int64_t fails_one_in, int64_t dies_after_ns = 0) {
  Fibers fibers(seed);
  Written written;
  const auto stored = [&](int64_t offset, std::span<const std::byte>) {
    written.offsets.push_back(offset);
  };
  FaultyStorage storage(fibers, {}, fails_one_in, seed, stored);
  fibers.spawn(1, [&] {
    std::string memory[requests];
    Segment segments[requests];
    Request list[requests];
    for (std::size_t i = 0; i < requests; ++i) {
      memory[i].assign(length, static_cast<char>('a' + i));
      segments[i] = {reinterpret_cast<std::byte*>(memory[i].data()), length};
      list[i] = {static_cast<int64_t>(i) * length, {&segments[i], 1}};
    }
    Transfer transfer(Transfer::Direction::write, list);
    storage.submit(transfer);
    written.status = storage.complete(transfer);
    written.outcomes.assign(transfer.outcomes().begin(), transfer.outcomes().end());
  });
  if (dies_after_ns > 0) {
    fibers.spawn(2, [&] {
      fibers.sleep(dies_after_ns);
      fibers.kill(1);
    });
  }
  EXPECT_TRUE(fibers.run());
  for (const std::byte byte : storage.bytes()) written.file += static_cast<char>(byte);
  return written;
}

TEST(FaultyStorage, CarriesOutRequestsInAnyOrder) {
  int out_of_order = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Written written = write_four(seed, 0);
    EXPECT_TRUE(written.status.ok());
    EXPECT_EQ(written.file, std::string(length, 'a') + std::string(length, 'b') +
                                std::string(length, 'c') + std::string(length, 'd'));
    out_of_order += std::ranges::is_sorted(written.offsets) ? 0 : 1;
  }
  EXPECT_GT(out_of_order, 25);
}

TEST(FaultyStorage, CutsARequestShortWhereItFails) {
  int cut = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Written written = write_four(seed, 5);
    const Transfer::Outcome* failed = nullptr;
    for (std::size_t i = 0; i < requests; ++i) {
      const Transfer::Outcome& outcome = written.outcomes[i];
      const auto offset = static_cast<int64_t>(i) * length;
      EXPECT_EQ(outcome.status.ok(), outcome.transferred == length);
      if (!outcome.status.ok()) {
        EXPECT_EQ(outcome.status.offset, offset + outcome.transferred);
        if (failed == nullptr) failed = &outcome;
        cut += outcome.transferred > 0;
      }
      EXPECT_EQ(std::ranges::count(written.file, static_cast<char>('a' + i)), outcome.transferred);
    }
    EXPECT_EQ(written.status.ok(), failed == nullptr);
    if (failed != nullptr) {
      EXPECT_EQ(written.status.offset, failed->status.offset);
    }
  }
  EXPECT_GT(cut, 10);
}

TEST(FaultyStorage, GetsNothingMoreFromADeadProcess) {
  int partial = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Written written = write_four(seed, 0, 50'000);
    partial += !written.file.empty() && written.outcomes.empty();
  }
  EXPECT_GT(partial, 10);
}

}  // namespace
}  // namespace forebay::test
