// Every byte has one owner, whatever the assignment.
#include "domain/file_domains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/region_parts.h"

namespace forebay {
namespace {

class FileDomainsTest : public testing::TestWithParam<AssignmentSpec> {};

DomainFacts facts_of(uint32_t nodes) {
  DomainFacts facts;
  facts.nodes = nodes;
  facts.unit_bytes = 4096;
  facts.chunk_bytes = 10000;
  facts.region = {70000, 333333};
  facts.file_bytes = 500000;
  return facts;
}

TEST_P(FileDomainsTest, APageHasOneOwner) {
  for (const uint32_t nodes : {1u, 2u, 3u, 7u}) {
    const FileDomains domains = GetParam().assign(facts_of(nodes));
    for (int64_t page = 0; page < 400; ++page) {
      const uint32_t owner = domains.owner_of(page * 4096);
      EXPECT_LT(owner, nodes);
      EXPECT_EQ(owner, domains.owner_of(page * 4096 + 1));
      EXPECT_EQ(owner, domains.owner_of(page * 4096 + 4095));
    }
  }
}

TEST_P(FileDomainsTest, AChunkHasOneOwnerAndTheNextAnother) {
  const FileDomains domains = GetParam().assign(facts_of(3));
  for (int64_t offset = 0; offset < 1'000'000; offset += 777) {
    const Extent chunk = domains.chunk_at(offset);
    EXPECT_LE(chunk.offset, offset);
    EXPECT_GT(chunk.end(), offset);
    EXPECT_EQ(domains.owner_of(std::max<int64_t>(chunk.offset, 0)), domains.owner_of(offset));
    EXPECT_EQ(domains.owner_of(chunk.end() - 1), domains.owner_of(offset));
    EXPECT_EQ(domains.owner_of(chunk.end()), (domains.owner_of(offset) + 1) % 3);
  }
}

TEST_P(FileDomainsTest, NothingKnownIsEnough) {
  DomainFacts facts;
  facts.nodes = 4;
  facts.unit_bytes = 512;
  const FileDomains domains = GetParam().assign(facts);
  EXPECT_EQ(domains.owners(), 4u);
  EXPECT_LT(domains.owner_of(0), 4u);
  EXPECT_LT(domains.owner_of(INT64_MAX - 1), 4u);
}

INSTANTIATE_TEST_SUITE_P(Assignments, FileDomainsTest,
                         testing::ValuesIn(assignments().begin(), assignments().end()),
                         [](const auto& spec) {
                           std::string name = spec.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(FileDomains, HomesInTurnForFirstTouch) {
  const FileDomains homes = find_assignment("first-touch")->assign(facts_of(3));
  const FileDomains chunks = find_assignment("cyclic")->assign(facts_of(3));
  EXPECT_TRUE(homes.first_touch());
  EXPECT_FALSE(chunks.first_touch());
  for (int64_t offset = 0; offset < 20 * chunks.chunk_bytes(); offset += 1000)
    ASSERT_EQ(homes.owner_of(offset), chunks.owner_of(offset));
}

TEST(FileDomains, AServersBytesHaveOneOwnerForStripe) {
  for (const uint32_t nodes : {1u, 2u, 3u, 5u, 8u}) {
    for (const int64_t servers : {1, 2, 3, 4, 12}) {
      DomainFacts facts = facts_of(nodes);
      facts.stripe_bytes = 1 << 20;
      facts.servers = servers;
      const FileDomains domains = find_assignment("stripe")->assign(facts);
      std::vector<uint32_t> owner_of_server(static_cast<std::size_t>(servers));
      std::vector<int> servers_of_owner(nodes);
      for (int64_t stripe = 0; stripe < 5 * servers; ++stripe) {
        const uint32_t owner = domains.owner_of(stripe * facts.stripe_bytes);
        ASSERT_EQ(owner, domains.owner_of((stripe + 1) * facts.stripe_bytes - 1));
        uint32_t& known = owner_of_server[static_cast<std::size_t>(stripe % servers)];
        if (stripe < servers) {
          known = owner;
          ++servers_of_owner[owner];
        }
        ASSERT_EQ(owner, known);
      }
      const auto [fewest, most] = std::ranges::minmax(servers_of_owner);
      EXPECT_LE(most - fewest, 1);
    }
  }
}

TEST(FileDomains, ChunksForStripeWhereStripesAreNotKnownOrCutPages) {
  for (const int64_t stripe : {int64_t{0}, int64_t{6000}}) {
    DomainFacts facts = facts_of(3);
    facts.stripe_bytes = stripe;
    facts.servers = 4;
    const FileDomains domains = find_assignment("stripe")->assign(facts);
    EXPECT_EQ(domains.chunk_bytes(), find_assignment("cyclic")->assign(facts).chunk_bytes());
  }
}

TEST(FileDomains, EqualPartsOfTheRegionForRegion) {
  const FileDomains domains = find_assignment("region")->assign(facts_of(2));
  std::vector<int64_t> bytes(2);
  const Extent region{70000, 333333};
  for (int64_t at = region.offset; at < region.end(); ++at) ++bytes[domains.owner_of(at)];
  EXPECT_NEAR(static_cast<double>(bytes[0]), static_cast<double>(bytes[1]), 2 * 4096.0);
}

TEST(FileDomains, EqualPartsOfTheFileForFile) {
  const FileDomains domains = find_assignment("file")->assign(facts_of(5));
  EXPECT_EQ(domains.chunk_bytes(), 102400);  // 100,000 in whole pages
  EXPECT_EQ(domains.owner_of(0), 0u);
  EXPECT_EQ(domains.owner_of(499999), 4u);
}

TEST(FileDomains, AnUnknownAssignmentIsNoAssignment) {
  EXPECT_EQ(find_assignment("nearest"), nullptr);
}

// No two owners write to a stripe, and shares that have none are not made larger for it.
TEST(FileDomains, SharesEndWithStripes) {
  DomainFacts facts = facts_of(3);
  facts.stripe_bytes = 30'000;
  facts.unit_bytes = 4'000;
  facts.region = {100'000, 1'000'000};
  const FileDomains domains = find_assignment("region")->assign(facts);
  EXPECT_EQ(domains.origin() % 60'000, 0);
  EXPECT_EQ(domains.chunk_bytes() % 60'000, 0);
  EXPECT_EQ(domains.owner_of(facts.region.offset), 0u);
  EXPECT_EQ(domains.owner_of(facts.region.end() - 1), 2u);
  facts.region.length = 90'000;
  EXPECT_EQ(find_assignment("region")->assign(facts).chunk_bytes(), 32'000);
  facts.file_bytes = 1'000'000;
  EXPECT_EQ(find_assignment("file")->assign(facts).chunk_bytes(), 360'000);
}

TEST(FileDomains, AreTheSameAfterWholeRounds) {
  const FileDomains three(1000, 10, 3);
  for (const int64_t origin : {-35, 970, 990, 1000, 1005, 1030, 1060, 1070}) {
    const FileDomains other(origin, 10, 3);
    bool same = true;
    for (int64_t offset = 0; offset < 3000; ++offset)
      same = same && other.owner_of(offset) == three.owner_of(offset);
    EXPECT_EQ(other == three, same) << origin;
  }
  EXPECT_TRUE(FileDomains(5, 10, 1) == FileDomains());
  EXPECT_FALSE(three == FileDomains());
  EXPECT_FALSE(three == FileDomains(1000, 20, 3));
  EXPECT_FALSE(three == three.in_rounds_of(4));
  EXPECT_FALSE(three == three.by_first_touch());
}

DomainFacts facts_for_region_parts(uint32_t nodes) {
  DomainFacts facts;
  facts.nodes = nodes;
  facts.unit_bytes = 4096;
  facts.chunk_bytes = 1 << 20;
  return facts;
}

TEST(RegionParts, DividesTheFirstLargeCollectiveAccess) {
  RegionParts first(facts_for_region_parts(4), false);
  EXPECT_STREQ(first.name(), "cyclic");
  EXPECT_EQ(first.now().chunk_bytes(), 1 << 20);
  EXPECT_FALSE(first.change({0, 0}, 0));
  EXPECT_FALSE(first.change({0, (512 << 10) - 4}, 512 << 10));          // too little for each
  EXPECT_FALSE(first.change({0, int64_t{1} << 40}, int64_t{1} << 30));  // far apart
  const std::optional<FileDomains> domains = first.change({100, 64 << 20}, 64 << 20);
  ASSERT_TRUE(domains);
  EXPECT_EQ(domains->origin(), 0);
  EXPECT_EQ(domains->chunk_bytes(), (16 << 20) + 4096);
  EXPECT_FALSE(first.open());
  EXPECT_STREQ(first.name(), "cyclic");  // until it is done
  first.note_change(*domains);
  EXPECT_STREQ(first.name(), "region");
  first.note_view();
  EXPECT_FALSE(first.change({0, 64 << 20}, 64 << 20));
}

// Many nodes: most of them have a part of the access all the same.
TEST(RegionParts, DealsOutSmallPartsOfAnAccessThatIsTooSmallForAllNodes) {
  RegionParts parts(facts_for_region_parts(64), false);  // chunks of 1 MiB
  EXPECT_FALSE(parts.change({0, (1 << 20) - 1}, 1 << 20));
  const std::optional<FileDomains> domains = parts.change({300'000, 4 << 20}, 4 << 20);
  ASSERT_TRUE(domains);
  EXPECT_EQ(domains->chunk_bytes(), 128 << 10);  // an eighth
  EXPECT_EQ(domains->origin(), 256 << 10);
  EXPECT_EQ(domains->owners(), 64);
  std::set<uint32_t> owners;
  for (int64_t at = 300'000; at < 300'000 + (4 << 20); at += 4096)
    owners.insert(domains->owner_of(at));
  EXPECT_EQ(owners.size(), 33);
  DomainFacts striped = facts_for_region_parts(64);
  striped.stripe_bytes = 1 << 20;  // no two owners share a stripe
  RegionParts of_striped(striped, false);
  const std::optional<FileDomains> stripes = of_striped.change({0, 32 << 20}, 32 << 20);
  EXPECT_FALSE(stripes);  // chunks in turn are a stripe each already
  EXPECT_EQ(of_striped.now().chunk_bytes(), 1 << 20);
}

TEST(RegionParts, LooksAtSomeAccessesOnly) {
  RegionParts first(facts_for_region_parts(2), false);
  int looked = 0;
  for (; first.open() && looked < 1000; ++looked) EXPECT_FALSE(first.change({0, 1000}, 1000));
  EXPECT_GT(looked, 3);
  EXPECT_LT(looked, 100);
  EXPECT_FALSE(first.change({0, 64 << 20}, 64 << 20));
}

TEST(RegionParts, FollowsEachView) {
  DomainFacts facts = facts_for_region_parts(2);
  facts.stripe_bytes = 1 << 20;
  facts.servers = 2;
  RegionParts parts(facts, true);
  EXPECT_STREQ(parts.name(), "cyclic");
  const std::optional<FileDomains> first = parts.change({0, 8 << 20}, 8 << 20);
  ASSERT_TRUE(first);
  parts.note_change(*first);
  EXPECT_STREQ(parts.name(), "dynamic");
  EXPECT_FALSE(parts.change({0, 64 << 20}, 64 << 20));
  parts.note_view();
  EXPECT_FALSE(parts.change({0, 1 << 20}, 1 << 20));  // less than a stripe each
  EXPECT_TRUE(parts.open());
  EXPECT_FALSE(parts.change({0, 8 << 20}, 8 << 20));  // they own these already
  EXPECT_FALSE(parts.open());
  parts.note_view();
  EXPECT_EQ(parts.change({0, 64 << 20}, 64 << 20)->chunk_bytes(), 32 << 20);
  parts.settle();
  parts.note_view();
  EXPECT_FALSE(parts.open());
}

// Where nodes' clients keep bytes, each node's own client serves what it writes first.
TEST(RegionParts, BeginsByFirstTouchWhereClientsKeepBytes) {
  DomainFacts facts = facts_for_region_parts(2);
  facts.close_to_open = true;
  for (const bool anew : {false, true}) {
    RegionParts parts(facts, anew);
    EXPECT_STREQ(parts.name(), "first-touch");
    EXPECT_TRUE(parts.now().first_touch());
    EXPECT_EQ(parts.now().chunk_bytes(), 1 << 20);
    const std::optional<FileDomains> domains = parts.change({0, 64 << 20}, 64 << 20);
    ASSERT_TRUE(domains);
    EXPECT_FALSE(domains->first_touch());
    parts.note_change(*domains);
    EXPECT_STREQ(parts.name(), anew ? "dynamic" : "region");
  }
  RegionParts parts(facts, false);
  std::optional<FileDomains> after_small;
  for (int looked = 0; parts.open(); ++looked) {
    ASSERT_FALSE(after_small) << looked;
    after_small = parts.change({0, 1000}, 1000);
  }
  ASSERT_TRUE(after_small);
  EXPECT_TRUE(*after_small == FileDomains(0, 1 << 20, 2));
  parts.note_change(*after_small);
  EXPECT_STREQ(parts.name(), "cyclic");
}

TEST(RegionParts, LeavesStripesThatDivideTheFileEvenly) {
  for (const int64_t servers : {0, 1, 3, 4, 5, 8, 15, 16, 17, 100}) {
    DomainFacts facts = facts_for_region_parts(4);
    facts.stripe_bytes = 2 << 20;
    facts.servers = servers;
    const RegionParts first(facts, false);
    const bool even = servers == 4 || servers == 8 || servers >= 16;
    EXPECT_STREQ(first.name(), even ? "stripe" : "cyclic") << servers;
    EXPECT_EQ(first.now().chunk_bytes(), even ? 2 << 20 : 1 << 20);
    EXPECT_EQ(first.open(), !even);
    facts.unit_bytes = 3 << 20;  // a page would have two owners
    EXPECT_STREQ(RegionParts(facts, false).name(), "cyclic");
  }
}

}  // namespace
}  // namespace forebay
