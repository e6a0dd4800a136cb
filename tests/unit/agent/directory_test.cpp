// The directory of a job: who has a file alone, when it gets owners, and who must be told.
#include "agent/directory.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/agent.h"
#include "agent/enrolled_file.h"
#include "agent/file_terms.h"
#include "agent/line.h"
#include "runtime/cache/cached_file.h"
#include "unit/temporary_file.h"

namespace forebay::agent {
namespace {

constexpr int64_t unit = 4096;
constexpr FileKey some_file{1, 22, 333};

Address address(uint64_t node) {
  Address address;
  address.port = 1000;
  address.key = {node, 7};
  return address;
}

Enrolment alone(uint64_t node, bool writes, int64_t chunk = unit) {
  return {some_file, writes, true, {FileDomains(0, chunk, 1), {address(node)}}};
}

Enrolment together(const std::vector<uint64_t>& nodes, bool writes) {
  Owners owners{FileDomains(0, unit, static_cast<uint32_t>(nodes.size())), {}};
  for (const uint64_t node : nodes) owners.agents.push_back(address(node));
  return {some_file, writes, false, owners};
}

std::vector<uint64_t> names(const std::vector<Address>& agents) {
  std::vector<uint64_t> nodes;
  for (const Address& agent : agents) nodes.push_back(agent.key[0]);
  return nodes;
}

using Nodes = std::vector<uint64_t>;

Nodes owners_of(const Enrolled& enrolled) {
  return enrolled.owners ? names(enrolled.owners->agents) : Nodes{};
}

TEST(DirectoryTest, OneNodeHasItsFileAlone) {
  Directory directory;
  for (const bool writes : {false, true, true}) {
    const Enrolled answer = directory.enrol(alone(1, writes));
    EXPECT_FALSE(answer.others);
    EXPECT_EQ(owners_of(answer), Nodes{});
  }
}

TEST(DirectoryTest, ReadersAreAloneUntilSomebodyWrites) {
  Directory directory;
  for (const uint64_t node : {1, 2, 3}) {
    const Enrolled reader = directory.enrol(alone(node, false));
    EXPECT_EQ(reader.others, node != 1);
    EXPECT_EQ(owners_of(reader), Nodes{});
  }
  const Enrolled writer = directory.enrol(alone(2, true));
  EXPECT_EQ(owners_of(writer), (Nodes{2, 1, 3}));
  EXPECT_EQ(names(writer.to_tell), (Nodes{1, 3}));
  EXPECT_EQ(writer.owners->domains.owner_of(2 * unit), 2u);
  // As long as they may not have been told, whoever comes must make sure.
  EXPECT_EQ(names(directory.enrol(alone(4, false)).to_tell), (Nodes{1, 3}));
  directory.note_told(some_file);
  const Enrolled later = directory.enrol(alone(5, false));
  EXPECT_EQ(owners_of(later), (Nodes{2, 1, 3}));
  EXPECT_EQ(names(later.to_tell), Nodes{});
}

TEST(DirectoryTest, AReaderBesideAWriterIsNotAlone) {
  Directory directory;
  directory.enrol(alone(1, true));
  const Enrolled reader = directory.enrol(alone(2, false));
  EXPECT_EQ(owners_of(reader), (Nodes{2, 1}));
  EXPECT_EQ(names(reader.to_tell), Nodes{1});
}

TEST(DirectoryTest, RanksOfSeveralNodesProposeTheirNodes) {
  Directory directory;
  directory.enrol(alone(9, true));
  const Enrolled group = directory.enrol(together({1, 2}, false));
  EXPECT_TRUE(group.others);
  EXPECT_EQ(owners_of(group), (Nodes{1, 2}));
  EXPECT_EQ(names(group.to_tell), Nodes{9});
  directory.note_told(some_file);
  const Enrolled other = directory.enrol(together({3, 4}, true));
  EXPECT_EQ(owners_of(other), (Nodes{1, 2}));
  EXPECT_EQ(owners_of(directory.enrol(alone(9, true))), (Nodes{1, 2}));
}

TEST(DirectoryTest, AReaderBesideRanksThatOnlyReadIsAlone) {
  Directory directory;
  EXPECT_FALSE(directory.enrol(together({1, 2}, false)).others);
  const Enrolled reader = directory.enrol(alone(3, false));
  EXPECT_TRUE(reader.others);
  EXPECT_EQ(owners_of(reader), Nodes{});
  const Enrolled writer = directory.enrol(alone(2, true));
  EXPECT_EQ(owners_of(writer), (Nodes{1, 2}));
  EXPECT_EQ(names(writer.to_tell), Nodes{3});
}

TEST(DirectoryTest, TheFirstOpenThatCanWriteEndsCopies) {
  Directory directory;
  const Enrolled readers = directory.enrol(together({1, 2}, false));
  EXPECT_FALSE(readers.written);
  EXPECT_FALSE(readers.ends_copies);
  const Enrolled writer = directory.enrol(alone(2, true));
  EXPECT_TRUE(writer.written);
  EXPECT_TRUE(writer.ends_copies);
  // Until it has done so, the next one must, too.
  EXPECT_TRUE(directory.enrol(alone(1, true)).ends_copies);
  const Enrolled reader = directory.enrol(together({1, 2}, false));
  EXPECT_TRUE(reader.written);
  EXPECT_FALSE(reader.ends_copies);
  directory.note_told(some_file);
  EXPECT_TRUE(directory.enrol(alone(1, true)).ends_copies);
  directory.end_copies(some_file);
  EXPECT_FALSE(directory.enrol(alone(1, true)).ends_copies);
}

TEST(DirectoryTest, WhereAWriterWasFirstThereAreNoCopies) {
  Directory directory;
  directory.enrol(alone(1, true));
  EXPECT_TRUE(directory.enrol(alone(2, false)).written);
  EXPECT_FALSE(directory.enrol(alone(3, true)).ends_copies);
}

TEST(DirectoryTest, OwnersThatItDidNotKnowMayHaveCopies) {
  Directory directory;
  Enrolment late = alone(1, true);
  late.known = together({1, 2}, false).proposed;
  EXPECT_TRUE(directory.enrol(late).ends_copies);
}

TEST(DirectoryTest, ForgetsAFileWhenItsLastOpenHasEnded) {
  Directory directory;
  const Enrolment first = alone(1, true), second = alone(2, false);
  directory.enrol(first);
  directory.enrol(first);
  directory.enrol(second);
  directory.withdraw(first.open());
  EXPECT_TRUE(directory.enrol(second).others);
  directory.withdraw(first.open());
  directory.withdraw(second.open());
  EXPECT_EQ(directory.files(), 1u);
  directory.withdraw(second.open());
  EXPECT_EQ(directory.files(), 0u);
  directory.withdraw(second.open());  // of nothing
  EXPECT_EQ(owners_of(directory.enrol(second)), Nodes{});
}

TEST(DirectoryTest, AChunkIsAMultipleOfEachOwnersPages) {
  Directory directory;
  directory.enrol(alone(1, false, 3 * unit));
  directory.enrol(alone(2, false, int64_t{1} << 40));
  const Enrolled writer = directory.enrol(alone(3, true, 2 * unit));
  EXPECT_EQ(writer.owners->domains.chunk_bytes(), int64_t{1} << 40);
  Directory other;
  other.enrol(alone(1, false, 3 * unit));
  EXPECT_EQ(other.enrol(alone(3, true, 2 * unit)).owners->domains.chunk_bytes(), 6 * unit);
}

TEST(DirectoryTest, ManyReadersDoNotAllBecomeOwners) {
  Directory directory;
  for (uint64_t node = 0; node < 3 * Directory::most_owners; ++node)
    directory.enrol(alone(node + 1, false));
  const Enrolled writer = directory.enrol(alone(1, true));
  EXPECT_EQ(writer.owners->agents.size(), Directory::most_owners);
  EXPECT_EQ(writer.to_tell.size(), 3 * Directory::most_owners - 1);
}

NewOwners larger_chunks(const std::vector<uint64_t>& nodes) {
  Owners owners = together(nodes, true).proposed;
  owners.domains = FileDomains(0, 10 * unit, static_cast<uint32_t>(nodes.size()));
  return {some_file, owners};
}

TEST(DirectoryTest, TheOnlyOpenOfSeveralNodesMayChangeTheOwners) {
  Directory directory;
  EXPECT_FALSE(directory.begin_change(some_file));
  const Enrolment group = together({1, 2}, true);
  directory.enrol(group);
  ASSERT_TRUE(directory.begin_change(some_file));
  EXPECT_FALSE(directory.begin_change(some_file));
  // Whoever comes meanwhile is not enrolled.
  EXPECT_TRUE(directory.enrol(group).changing);
  EXPECT_TRUE(directory.enrol(alone(3, true)).changing);
  directory.change_owners(larger_chunks({1, 2}));
  const Enrolled later = directory.enrol(alone(3, true));
  EXPECT_FALSE(later.changing);
  EXPECT_TRUE(later.others);
  EXPECT_EQ(later.owners->domains.chunk_bytes(), 10 * unit);
  EXPECT_FALSE(directory.begin_change(some_file));
  directory.change_owners(larger_chunks({4}));  // of which nothing has begun
  EXPECT_EQ(owners_of(directory.enrol(group)), (Nodes{1, 2}));
  directory.withdraw(alone(3, true).open());
  EXPECT_FALSE(directory.begin_change(some_file));  // the group has it open twice
  directory.withdraw(group.open());
  EXPECT_TRUE(directory.begin_change(some_file));
  directory.withdraw(group.open());  // it has gone in the middle
  EXPECT_FALSE(directory.enrol(alone(3, true)).owners);
}

TEST(DirectoryTest, ANodeAloneHasNoOwnersToChange) {
  Directory directory;
  directory.enrol(alone(1, true));
  EXPECT_FALSE(directory.begin_change(some_file));
}

// A node's cache has the file by owners whose opens have just ended: the next ones get the same.
TEST(DirectoryTest, TakesUpTheOwnersThatANodeKnows) {
  Directory directory;
  Enrolment knows = alone(1, false);
  knows.known = together({3, 1}, true).proposed;
  const Enrolled first = directory.enrol(knows);
  EXPECT_FALSE(first.others);
  EXPECT_EQ(owners_of(first), (Nodes{3, 1}));
  EXPECT_EQ(owners_of(directory.enrol(alone(2, false))), Nodes{});  // it only reads, as all
  const Enrolled writer = directory.enrol(alone(4, true));
  EXPECT_EQ(owners_of(writer), (Nodes{3, 1}));
  EXPECT_EQ(names(writer.to_tell), (Nodes{2}));
  // What the directory has is what holds.
  Enrolment other = alone(5, true);
  other.known = together({5, 6}, true).proposed;
  EXPECT_EQ(owners_of(directory.enrol(other)), (Nodes{3, 1}));
}

TEST(DirectoryTest, MessagesComeThrough) {
  const Enrolment enrolment = alone(5, true);
  const std::optional<Enrolment> enrolled = Enrolment::decoded(enrolment.encoded());
  ASSERT_TRUE(enrolled);
  EXPECT_EQ(enrolled->file, some_file);
  EXPECT_TRUE(enrolled->writes && enrolled->one_node);
  EXPECT_EQ(enrolled->proposed.identity(), enrolment.proposed.identity());
  EXPECT_FALSE(enrolled->known);
  Enrolment knows = enrolment;
  knows.known = together({3, 1}, true).proposed;
  EXPECT_EQ(Enrolment::decoded(knows.encoded())->known->identity(), knows.known->identity());
  Enrolled answer;
  answer.others = answer.ends_copies = true;
  answer.owners = together({1, 2}, true).proposed;
  answer.to_tell = {address(3), address(4)};
  const std::optional<Enrolled> heard = Enrolled::decoded(answer.encoded());
  ASSERT_TRUE(heard);
  EXPECT_TRUE(heard->others);
  EXPECT_FALSE(heard->written);
  EXPECT_TRUE(heard->ends_copies);
  EXPECT_EQ(heard->owners->identity(), answer.owners->identity());
  EXPECT_EQ(names(heard->to_tell), (Nodes{3, 4}));
  EXPECT_FALSE(heard->changing);
  Enrolled busy;
  busy.changing = true;
  busy.written = true;
  EXPECT_TRUE(Enrolled::decoded(busy.encoded())->changing);
  EXPECT_TRUE(Enrolled::decoded(busy.encoded())->written);
  const NewOwners changed = larger_chunks({1, 2});
  const std::optional<NewOwners> taken = NewOwners::decoded(changed.encoded());
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->file, some_file);
  EXPECT_EQ(taken->owners.identity(), changed.owners.identity());
}

TEST(DirectoryTest, PartsOfMessagesAreNone) {
  const std::vector<std::byte> whole = alone(5, true).encoded();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_FALSE(Enrolment::decoded(std::span(whole).first(bytes))) << bytes;
  Enrolment knows = alone(5, true);
  knows.known = together({3, 1}, true).proposed;
  const std::vector<std::byte> longer = knows.encoded();
  for (std::size_t bytes = 0; bytes < longer.size(); ++bytes)
    EXPECT_FALSE(Enrolment::decoded(std::span(longer).first(bytes))) << bytes;
  Enrolled enrolled;
  enrolled.owners = together({1, 2}, true).proposed;
  enrolled.to_tell = {address(3)};
  const std::vector<std::byte> answer = enrolled.encoded();
  std::size_t understood = 0;
  for (std::size_t bytes = 0; bytes < answer.size(); ++bytes) {
    // One address fewer makes owners, too.
    const std::optional<Enrolled> part = Enrolled::decoded(std::span(answer).first(bytes));
    if (part) {
      EXPECT_EQ(part->owners->agents.size(), 1u);
    }
    understood += part.has_value();
  }
  EXPECT_EQ(understood, 1u);
  Enrolment two = together({1, 2}, true);
  two.one_node = true;
  EXPECT_FALSE(Enrolment::decoded(two.encoded()));
}

// The agents of three nodes in one process, which is a rank of each.
class EnrolledFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Agent& agent : agents_) ASSERT_TRUE(agent.start());
  }
  Address agent(std::size_t node) const {
    Address address = own_address();
    address.port = agents_[node].port();
    address.key = agents_[node].key();
    return address;
  }
  std::shared_ptr<Line> line() const { return std::make_shared<Line>(agent(0)); }
  Enrolment alone_on(std::size_t node, bool writes) const {
    return {some_file, writes, true, {FileDomains(0, unit, 1), {agent(node)}}};
  }

  Agent agents_[3];  // the first one keeps the directory
};

TEST_F(EnrolledFileTest, AnOpenIsKnownFromItsBeginningToItsEnd) {
  const std::shared_ptr<Line> one = line(), other = line();
  Enrolled answer;
  std::unique_ptr<EnrolledFile> first, second;
  ASSERT_TRUE(EnrolledFile::enrol(one, alone_on(1, true), &answer, &first).ok());
  EXPECT_FALSE(answer.others || answer.owners);
  ASSERT_TRUE(EnrolledFile::enrol(other, alone_on(2, false), &answer, &second).ok());
  EXPECT_EQ(answer.to_tell.size(), 1u);
  second.reset();
  first.reset();
  ASSERT_TRUE(EnrolledFile::enrol(other, alone_on(2, false), &answer, &second).ok());
  EXPECT_FALSE(answer.others || answer.owners);
}

// An open that comes while the owners change waits, and learns the new ones.
TEST_F(EnrolledFileTest, AnOpenWaitsForOwnersThatChange) {
  const Enrolment group{some_file, true, false, {FileDomains(0, unit, 2), {agent(1), agent(2)}}};
  const std::shared_ptr<Line> one = line(), other = line();
  Enrolled answer;
  std::unique_ptr<EnrolledFile> first, second;
  ASSERT_TRUE(EnrolledFile::enrol(one, group, &answer, &first).ok());
  ASSERT_TRUE(first->begin_change());
  EXPECT_FALSE(first->begin_change());
  std::atomic<bool> enrolled{false};
  Enrolled later;
  std::thread opener([&] {
    EXPECT_TRUE(EnrolledFile::enrol(other, alone_on(1, true), &later, &second).ok());
    enrolled.store(true);
  });
  poll(nullptr, 0, 20);
  EXPECT_FALSE(enrolled.load());
  Owners changed = group.proposed;
  changed.domains = FileDomains(0, 7 * unit, 2);
  EXPECT_TRUE(first->change_owners(changed).ok());
  opener.join();
  ASSERT_TRUE(later.owners);
  EXPECT_EQ(later.owners->identity(), changed.identity());
  EXPECT_FALSE(first->begin_change());
}

TEST_F(EnrolledFileTest, ARankThatHasGoneHasNothingOpen) {
  Enrolled answer;
  std::shared_ptr<Line> gone = line();
  std::unique_ptr<EnrolledFile> left, later;
  ASSERT_TRUE(EnrolledFile::enrol(gone, alone_on(1, true), &answer, &left).ok());
  gone->connection().close();
  for (int attempt = 0; agents_[0].served() > 0 && attempt < 2000; ++attempt) poll(nullptr, 0, 5);
  left.reset();  // says nothing on another connection
  ASSERT_TRUE(EnrolledFile::enrol(gone, alone_on(2, true), &answer, &later).ok());
  EXPECT_FALSE(answer.others);
}

TEST_F(EnrolledFileTest, WhoSaysWhatMakesNoSenseIsNotServed) {
  for (const Ask ask : {Ask::enrol, Ask::note_told, Ask::end_copies, Ask::withdraw,
                        Ask::begin_change, Ask::change_owners}) {
    for (const std::size_t bytes : {std::size_t{0}, sizeof(EnrolledOpen), std::size_t{300}}) {
      const bool of_a_file =
          ask == Ask::note_told || ask == Ask::end_copies || ask == Ask::begin_change;
      if (of_a_file && bytes == sizeof(FileKey)) continue;
      Connection connection;
      ASSERT_TRUE(Connection::dial(agent(0), &connection).ok());
      const std::vector<std::byte> garbage(bytes, std::byte{0xaa});
      const std::span<const std::byte> part(garbage);
      Frame frame;
      frame.kind = static_cast<uint32_t>(ask);
      frame.bytes = std::ssize(garbage);
      ASSERT_TRUE(connection.send(frame, std::span(&part, 1)).ok());
      std::vector<std::byte> answer;
      EXPECT_EQ(connection.receive(&frame, &answer).code, Code::node_lost);
    }
  }
}

// The node that had the file alone commits what it holds, and its handles see the owners.
TEST_F(EnrolledFileTest, TellsTheNodeThatWasAlone) {
  const test::TemporaryFile disk;
  Options options;
  options.scope = Scope::job;
  options.page_size_bytes = unit;
  options.step_aside = StepAside::never;
  Status status;
  const auto own =
      runtime::CachedFile::open(disk.path(), runtime::OpenMode::read_write, options, &status);
  ASSERT_NE(own, nullptr);
  const std::string text = "alone";
  ASSERT_TRUE(own->write(0, std::as_bytes(std::span(text)).data(), std::ssize(text)).ok());
  Enrolled answer;
  std::unique_ptr<EnrolledFile> first, second;
  ASSERT_TRUE(EnrolledFile::enrol(line(), alone_on(1, true), &answer, &first).ok());
  ASSERT_TRUE(EnrolledFile::enrol(line(), alone_on(2, true), &answer, &second).ok());
  FileTerms terms;
  terms.path = disk.path();
  terms.mode = runtime::OpenMode::read_write;
  terms.options = options;
  terms.owners = answer.owners->encoded();
  EXPECT_EQ(own->owners(), 0u);
  EXPECT_EQ(disk.content(), "");
  ASSERT_TRUE(second->tell(answer.to_tell, terms).ok());
  EXPECT_EQ(own->owners(), answer.owners->identity());
  EXPECT_EQ(disk.content(), text);
  std::unique_ptr<EnrolledFile> third;
  ASSERT_TRUE(EnrolledFile::enrol(line(), alone_on(2, true), &answer, &third).ok());
  EXPECT_TRUE(answer.owners && answer.to_tell.empty());
  ASSERT_TRUE(own->close(false).ok());
}

}  // namespace
}  // namespace forebay::agent
