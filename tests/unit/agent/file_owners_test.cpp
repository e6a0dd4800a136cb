// Questions to several owners at once, over lines that threads and files share.

#include "agent/file_owners.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "agent/agent.h"
#include "agent/job_file.h"
#include "agent/line.h"
#include "runtime/cache/cached_file.h"
#include "unit/agent/silent_exchange.h"
#include "unit/temporary_file.h"

namespace forebay::agent {
namespace {

constexpr int64_t chunk_bytes = 4096;

// A file of three other nodes.
class SeveralOwners : public testing::Test {
 protected:
  void SetUp() override {
    options_.scope = Scope::job;
    options_.page_size_bytes = chunk_bytes;
    options_.cache_size_bytes = 64 * chunk_bytes;
    options_.step_aside = StepAside::never;
    options_.write_behind = false;
    owners_.domains = FileDomains(0, chunk_bytes, static_cast<uint32_t>(agents_.size()));
    for (Agent& agent : agents_) {
      ASSERT_TRUE(agent.start());
      Address address = own_address();
      address.port = agent.port();
      address.key = agent.key();
      owners_.agents.push_back(address);
    }
    // The lines lie in memory in another order than the owners do.
    for (auto agent = owners_.agents.rbegin(); agent != owners_.agents.rend(); ++agent)
      lines_.push_back(Lines::of_process().to(*agent));
  }
  FileTerms terms(const std::string& path) const {
    FileTerms terms;
    terms.path = path;
    terms.mode = runtime::OpenMode::read_write;
    terms.options = options_;
    terms.owners = owners_.encoded();
    return terms;
  }

  Options options_;
  Owners owners_;
  std::array<Agent, 3> agents_;
  std::vector<std::shared_ptr<Line>> lines_;
};

TEST_F(SeveralOwners, AreAskedAtOnce) {
  const test::TemporaryFile disk("seven..");
  FileOwners owners(owners_, Owners::none, terms(disk.path()));
  EXPECT_EQ(owners.owner_of(2 * chunk_bytes), 2u);
  EXPECT_EQ(owners.whom_to_ask(3 * chunk_bytes), 0u);
  int64_t size = 0;
  ASSERT_TRUE(owners.ask_all(Ask::size, 0, &size).ok());
  EXPECT_EQ(size, 7);
  ASSERT_TRUE(owners.ask_owners_of({chunk_bytes, chunk_bytes}, Ask::settle, false).ok());
  EXPECT_TRUE(owners.agent(1)->is_open());
  ASSERT_TRUE(owners.close(false).ok());
  EXPECT_FALSE(owners.agent(1)->is_open());
}

TEST_F(SeveralOwners, RefuseForReasonsOfTheirOwn) {
  FileOwners owners(owners_, Owners::none, terms("/there/is/no/such/file"));
  Status refusal;
  EXPECT_EQ(owners.ask_all(Ask::size, 0, nullptr, &refusal).code, Code::unsupported);
  EXPECT_EQ(refusal.code, Code::unsupported);
}

// A rank in a collective call asks for the size while another thread asks about another file: each
// holds the line of an owner that the other waits for, if their orders differ.
TEST_F(SeveralOwners, TwoThreadsTakeLinesInOneOrder) {
  const std::array<test::TemporaryFile, 2> disks;
  SilentExchange exchange;
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < disks.size(); ++number) {
    threads.emplace_back([&, number] {
      Status status;
      const auto here = runtime::CachedFile::open(disks[number].path(),
                                                  runtime::OpenMode::read_write, options_, &status);
      ASSERT_NE(here, nullptr);
      JobFile file(*here, owners_, Owners::none, terms(disks[number].path()));
      if (number == 0) file.exchange_over(&exchange);
      for (int i = 0; i < 1000; ++i) {
        int64_t bytes = 0;
        EXPECT_TRUE(file.size(&bytes).ok());
      }
      file.exchange_over(nullptr);
      EXPECT_TRUE(file.leave(false).ok());
      EXPECT_TRUE(here->close(false).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace forebay::agent
