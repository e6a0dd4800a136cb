// What nodes tell each other of a file: its owners, how it is opened, who has claimed its chunks.
#include "agent/owners.h"

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <vector>

#include "agent/claims.h"
#include "agent/file_terms.h"

namespace forebay::agent {
namespace {

TEST(FileTermsTest, SurviveTheirEncoding) {
  FileTerms terms;
  terms.path = "/somewhere/file";
  terms.mode = runtime::OpenMode::write_only;
  terms.options.page_size_bytes = 12288;
  terms.options.policy = "arc";
  terms.options.read_ahead_bytes = 0;
  terms.owners = Owners{FileDomains(3, 4, 1), {own_address()}}.encoded();
  const std::vector<std::byte> bytes = terms.encoded();
  const std::optional<FileTerms> decoded = FileTerms::decoded(bytes);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->encoded(), bytes);
  EXPECT_EQ(decoded->path, terms.path);
  EXPECT_EQ(decoded->mode, terms.mode);
  EXPECT_EQ(decoded->options.policy, "arc");
  // Every beginning of it is refused, or says less.
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto shorter = FileTerms::decoded(std::span(bytes).first(length));
    EXPECT_TRUE(!shorter || !shorter->path.empty());
  }
}

TEST(OwnersTest, SurviveTheirEncoding) {
  const FileDomains in_turn(0, 4096, 3);
  for (const FileDomains& domains :
       {in_turn, FileDomains(777, 4096, 3), in_turn.in_rounds_of(4), in_turn.by_first_touch()}) {
    const Owners owners{domains, {own_address(), own_address(), own_address()}};
    const std::optional<Owners> decoded = Owners::decoded(owners.encoded());
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(decoded->encoded(), owners.encoded());
    EXPECT_EQ(decoded->domains.first_touch(), domains.first_touch());
    for (int64_t offset = 0; offset < 100'000; offset += 999)
      ASSERT_EQ(decoded->domains.owner_of(offset), domains.owner_of(offset));
  }
  const Owners both{in_turn.in_rounds_of(4).by_first_touch(),
                    {own_address(), own_address(), own_address()}};
  EXPECT_FALSE(Owners::decoded(both.encoded()).has_value());
}

TEST(ClaimsTest, BelongToOneFileAndItsOwners) {
  ClaimsOfFiles claims;
  const uint64_t file = 2, other = 3;
  EXPECT_EQ(claims.of(file, 1)->owner_of(5), Owners::none);
  EXPECT_EQ(claims.of(file, 1)->claim(5, 2), 2u);
  EXPECT_EQ(claims.of(file, 1)->claim(5, 1), 2u);
  EXPECT_EQ(claims.of(file, 1)->owner_of(5), 2u);
  EXPECT_EQ(claims.of(other, 1)->owner_of(5), Owners::none);
  EXPECT_EQ(claims.of(file, 2)->owner_of(5), Owners::none);
}

}  // namespace
}  // namespace forebay::agent
