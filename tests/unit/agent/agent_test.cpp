// An agent and its callers.
#include "agent/agent.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/foretold_reads.h"
#include "unit/agent/two_agents.h"

namespace forebay::agent {
namespace {

TEST_F(AgentTest, WritesAndReadsForACaller) {
  RemoteFile file = remote();
  const std::vector<Extent> extents{{0, 3}, {page - 1, 2}};
  ASSERT_TRUE(file.begin_write(extents, bytes_of("abcde")).ok());
  ASSERT_TRUE(file.end().ok());
  EXPECT_EQ(stored(), "");
  int64_t size = 0;
  ASSERT_TRUE(file.begin(Ask::size).ok());
  ASSERT_TRUE(file.end(&size).ok());
  EXPECT_EQ(size, page + 1);
  ASSERT_TRUE(file.begin_read(std::vector<Extent>{{1, 3}, {page, 9}}).ok());
  int64_t moved = 0;
  ASSERT_TRUE(file.end(&moved).ok());
  EXPECT_EQ(moved, 4);
  EXPECT_EQ(text_of(file.answer()), std::string("bc\0e", 4));
  ASSERT_TRUE(file.begin(Ask::commit).ok());
  ASSERT_TRUE(file.end().ok());
  EXPECT_EQ(stored().size(), static_cast<std::size_t>(page) + 1);
  ASSERT_TRUE(file.begin(Ask::close).ok());
  ASSERT_TRUE(file.end().ok());
  EXPECT_EQ(file.statistics().write_bytes, 5);
}

// What a rank will read next comes with its question; the owner fetches its own part in the
// background.
TEST_F(AgentTest, FetchesAheadWhatACallerForetells) {
  std::fstream(disk_.path(), std::ios::binary | std::ios::in | std::ios::out)
      << std::string(1000 * page, 'x');
  int64_t ahead_pages = 0;
  for (int64_t attempt = 1; attempt <= 20 && ahead_pages < 2; ++attempt) {
    const int64_t first = 40 * attempt * page;
    RemoteFile file = remote();
    const std::vector<Extent> next{
        {first + 8 * page, page}, {first + 4 * page, 10}, {first + page, page}};
    ASSERT_TRUE(file.begin_read(std::vector<Extent>{{first, 3}}, Ask::read, next).ok());
    ASSERT_TRUE(file.end().ok());
    EXPECT_EQ(text_of(file.answer()), "xxx");
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * attempt));
    ASSERT_TRUE(file.begin(Ask::close).ok());
    ASSERT_TRUE(file.end().ok());
    ahead_pages = file.statistics().ahead_pages;
    EXPECT_LE(ahead_pages, 2) << "and nothing of another owner";
  }
  EXPECT_EQ(ahead_pages, 2);
  for (const Extent& senseless : {Extent{-1, 4}, Extent{0, 0}, Extent{8, INT64_MAX}}) {
    RemoteFile other = remote();
    ASSERT_TRUE(other.begin_read(std::vector<Extent>{{0, 3}}, Ask::read, {&senseless, 1}).ok());
    EXPECT_EQ(other.end().code, Code::node_lost);
  }
  RemoteFile other = remote();
  const std::vector<Extent> many(ForetoldReads::most_extents + 1, {0, 1});
  ASSERT_TRUE(other.begin_read(std::vector<Extent>{{0, 3}}, Ask::read, many).ok());
  EXPECT_EQ(other.end().code, Code::node_lost);
}

// What a rank asks of owners around an access past the caches.
TEST_F(AgentTest, SettlesARange) {
  RemoteFile file = remote();
  const std::vector<Extent> extents{{0, 4}, {page, 4}};
  ASSERT_TRUE(file.begin_write(extents, bytes_of("onetwo..")).ok());
  ASSERT_TRUE(file.end().ok());
  ASSERT_TRUE(file.begin(Ask::commit, Extent{page, 2}).ok());
  ASSERT_TRUE(file.end().ok());
  EXPECT_EQ(stored(), std::string(page, '\0') + "wo..");
  std::fstream(disk_.path(), std::ios::binary | std::ios::in | std::ios::out).seekp(page) << "new.";
  const auto read = [&] {
    EXPECT_TRUE(file.begin_read(std::vector<Extent>{{page, 4}}).ok());
    EXPECT_TRUE(file.end().ok());
    return text_of(file.answer());
  };
  EXPECT_EQ(read(), "wo..");
  ASSERT_TRUE(file.begin(Ask::settle, Extent{page + 3, 1}).ok());
  ASSERT_TRUE(file.end().ok());
  EXPECT_EQ(read(), "new.");
  EXPECT_EQ(stored().substr(0, 4), std::string(4, '\0'));  // not in the range
  for (const Extent& senseless : {Extent{-1, 4}, Extent{0, 0}, Extent{8, INT64_MAX}}) {
    RemoteFile other = remote();
    ASSERT_TRUE(other.begin(Ask::settle, senseless).ok());
    EXPECT_EQ(other.end().code, Code::node_lost);
  }
}

TEST_F(AgentTest, CommitsWhatACallerLeftThatHasGone) {
  {
    RemoteFile file = remote();
    ASSERT_TRUE(file.begin_write(std::vector<Extent>{{0, 4}}, bytes_of("last")).ok());
    ASSERT_TRUE(file.end().ok());
    EXPECT_EQ(agent_.served(), 1);
  }  // the connection breaks
  EXPECT_TRUE(soon([&] { return agent_.served() == 0; }));
  EXPECT_EQ(stored(), "last");
}

TEST_F(AgentTest, LeavesTheCommitToTheNodesOwnHandles) {
  Status status;
  const auto own = CachedFile::open(disk_.path(), OpenMode::read_write, small_options(), &status);
  ASSERT_NE(own, nullptr);
  RemoteFile file = remote();
  ASSERT_TRUE(file.begin_write(std::vector<Extent>{{0, 4}}, bytes_of("left")).ok());
  ASSERT_TRUE(file.end().ok());
  ASSERT_TRUE(file.begin(Ask::close).ok());
  ASSERT_TRUE(file.end().ok());
  EXPECT_EQ(stored(), "");
  int64_t size = 0;
  ASSERT_TRUE(own->size(&size).ok());
  EXPECT_EQ(size, 4);
  ASSERT_TRUE(own->close(false).ok());
  EXPECT_EQ(stored(), "left");
}

TEST_F(AgentTest, SaysWhyAFileCannotBeOpened) {
  auto wrong = std::make_shared<FileTerms>(*terms());
  wrong->path += "-missing";
  RemoteFile file(line(), wrong);
  EXPECT_EQ(file.begin(Ask::size).code, Code::unsupported);
}

// Who owns bytes is known without the file: it is opened when it is needed.
TEST_F(AgentTest, TellsOwnersOfAFileThatItHasNotOpened) {
  first_touch_ = true;
  auto removed = std::make_shared<FileTerms>(*terms());
  removed->path += "-missing";
  RemoteFile file(line(), removed);
  for (const uint32_t claimer : {1u, 0u}) {
    ASSERT_TRUE(file.begin(Ask::owners, {0, page}, 1 + int64_t{claimer}).ok());
    ASSERT_TRUE(file.end().ok());
    uint32_t owner = Owners::none;
    ASSERT_EQ(file.answer().size(), sizeof owner);
    std::memcpy(&owner, file.answer().data(), sizeof owner);
    EXPECT_EQ(owner, 1);
  }
  ASSERT_TRUE(file.begin(Ask::size).ok());
  EXPECT_EQ(file.end().code, Code::unsupported);
  ASSERT_TRUE(file.begin(Ask::close).ok());
  EXPECT_TRUE(file.end().ok());
  EXPECT_FALSE(file.is_open());
}

TEST_F(AgentTest, RefusesCallersWithoutTheKey) {
  Address wrong = address_of(agent_);
  wrong.key[0] ^= 1;
  RemoteFile file(std::make_shared<Line>(wrong), terms());
  EXPECT_EQ(file.begin(Ask::size).code, Code::network);
  EXPECT_TRUE(soon([&] { return agent_.refused() > 0; }));
  EXPECT_EQ(agent_.served(), 0);
}

TEST_F(AgentTest, DialsNobodyWhereNobodyListens) {
  Address nobody = address_of(agent_);
  nobody.port = 1;
  Connection connection;
  EXPECT_EQ(Connection::dial(nobody, &connection).code, Code::network);
}

// Frames that no client sends: each ends its connection, and nothing else.
TEST_F(AgentTest, EndsConnectionsThatMakeNoSense) {
  std::mt19937_64 random(1);
  for (int attempt = 0; attempt < 600; ++attempt) {
    first_touch_ = random() % 2 == 0;
    Connection connection;
    ASSERT_TRUE(Connection::dial(address_of(agent_), &connection).ok());
    const bool opens = attempt % 2 == 0;
    if (opens) {
      const std::vector<std::byte> said = terms()->encoded();
      const std::span<const std::byte> part(said);
      Frame frame;
      frame.kind = static_cast<uint32_t>(Ask::open);
      frame.bytes = std::ssize(said);
      ASSERT_TRUE(connection.send(frame, std::span(&part, 1)).ok());
      std::vector<std::byte> bytes;
      ASSERT_TRUE(connection.receive(&frame, &bytes).ok());
    }
    std::vector<std::byte> garbage(random() % 2 == 0 ? sizeof(Extent) : random() % 64);
    for (std::byte& byte : garbage) byte = static_cast<std::byte>(random());
    Frame frame;
    frame.file = random() % 2;
    frame.kind = static_cast<uint32_t>(random() % 16);  // all questions, and some that are none
    frame.value = static_cast<int64_t>(random() % 8) - 2;
    frame.bytes = std::ssize(garbage);
    if (attempt % 5 == 0) frame.bytes = static_cast<int64_t>(random());
    const std::span<const std::byte> part(garbage);
    (void)connection.send(frame, std::span(&part, 1));
    connection.interrupt();
  }
  EXPECT_TRUE(soon([&] { return agent_.served() == 0; }));
  RemoteFile file = remote();
  EXPECT_TRUE(file.begin(Ask::size).ok());
  EXPECT_TRUE(file.end().ok());
}

TEST_F(AgentTest, OpensAFileForManyCallersAtOnce) {
  for (int attempt = 0; attempt < 30; ++attempt) {
    Agent agent;
    ASSERT_TRUE(agent.start());
    auto terms = std::make_shared<FileTerms>(*this->terms());
    terms->owners = Owners{domains(), {address_of(agent), own_address()}}.encoded();
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 8; ++caller) {
      callers.emplace_back([&] {
        RemoteFile file(std::make_shared<Line>(address_of(agent)), terms);
        EXPECT_TRUE(file.begin(Ask::size).ok());
        EXPECT_TRUE(file.end().ok());
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_TRUE(soon([&] { return agent.served() == 0; }));
  }
}

// Ranks that ask nothing take no thread.
TEST_F(AgentTest, NeedsAThreadForAQuestionOnly) {
  std::vector<std::unique_ptr<RemoteFile>> files;
  for (int rank = 0; rank < 100; ++rank) {
    files.push_back(std::make_unique<RemoteFile>(line(), terms()));
    ASSERT_TRUE(files.back()->begin(Ask::size).ok());
    ASSERT_TRUE(files.back()->end().ok());
  }
  EXPECT_EQ(agent_.served(), 100);
  EXPECT_TRUE(soon([&] { return agent_.workers() <= 10; }));
}

// Two files of a rank need one connection. What one of them is refused does not concern the other.
TEST_F(AgentTest, ServesTheFilesOfARankOverOneLine) {
  test::TemporaryFile another;
  auto other_terms = std::make_shared<FileTerms>(*terms());
  other_terms->path = another.path();
  auto wrong_terms = std::make_shared<FileTerms>(*terms());
  wrong_terms->path += "-missing";
  const std::shared_ptr<Line> shared = line();
  RemoteFile one(shared, terms()), other(shared, other_terms), wrong(shared, wrong_terms);
  const std::vector<Extent> extents{{0, 3}};
  ASSERT_TRUE(one.begin_write(extents, bytes_of("one")).ok());
  ASSERT_TRUE(one.end().ok());
  EXPECT_EQ(wrong.begin(Ask::size).code, Code::unsupported);
  ASSERT_TRUE(other.begin_write(extents, bytes_of("two")).ok());
  ASSERT_TRUE(other.end().ok());
  EXPECT_EQ(agent_.served(), 1);
  ASSERT_TRUE(one.begin(Ask::close).ok());
  ASSERT_TRUE(one.end().ok());
  EXPECT_FALSE(one.is_open());
  EXPECT_EQ(stored(), "one");
  ASSERT_TRUE(other.begin_read(extents).ok());
  ASSERT_TRUE(other.end().ok());
  EXPECT_EQ(text_of(other.answer()), "two");
  // Opened anew, over the same line, and after the line broke.
  for (const bool breaks : {false, true}) {
    if (breaks) {
      shared->connection().interrupt();
      EXPECT_FALSE(other.begin(Ask::size).ok() && other.end().ok());
    }
    ASSERT_TRUE(one.begin_read(extents).ok());
    ASSERT_TRUE(one.end().ok());
    EXPECT_EQ(text_of(one.answer()), "one");
  }
  // The agent closes what was open over the line once it notices that the line is broken.
  for (int wait = 0; wait < 10'000 && another.content() != "two"; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(another.content(), "two");
}

// Threads that ask several agents at once take their lines in one order.
TEST_F(AgentTest, LetsThreadsShareLines) {
  const std::shared_ptr<Line> lines[] = {line(), std::make_shared<Line>(address_of(*own_agent_))};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      RemoteFile files[] = {RemoteFile(lines[thread % 2], terms()),
                            RemoteFile(lines[1 - thread % 2], terms())};
      const bool in_order = files[0].before(files[1]);
      RemoteFile& first = files[in_order ? 0 : 1];
      RemoteFile& second = files[in_order ? 1 : 0];
      for (int round = 0; round < 100; ++round) {
        ASSERT_TRUE(first.begin(Ask::size).ok());
        ASSERT_TRUE(second.begin(Ask::size).ok());
        ASSERT_TRUE(first.end().ok());
        ASSERT_TRUE(second.end().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(agent_.served(), 1);
}

// A rank that reads no answer keeps a thread waiting. The other ranks' questions need others.
TEST_F(AgentTest, AnswersBesideRanksThatTakeNoAnswer) {
  const std::string much(16 << 20, 'm');
  const std::vector<Extent> extents{{0, std::ssize(much)}};
  std::vector<std::unique_ptr<RemoteFile>> slow;
  for (int rank = 0; rank < 20; ++rank) {
    slow.push_back(std::make_unique<RemoteFile>(line(), terms()));
    if (rank == 0) {
      ASSERT_TRUE(slow[0]->begin_write(extents, bytes_of(much)).ok());
      ASSERT_TRUE(slow[0]->end().ok());
    }
    ASSERT_TRUE(slow[rank]->begin_read(extents).ok());
  }
  RemoteFile file = remote();
  EXPECT_TRUE(file.begin(Ask::size).ok());
  EXPECT_TRUE(file.end().ok());
  for (const auto& rank : slow) {
    ASSERT_TRUE(rank->end().ok());
    ASSERT_EQ(text_of(rank->answer()), much);
  }
}

TEST_F(AgentTest, DropsCallersThatSpeakNoProtocol) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(agent_.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string request =
        "GET / HTTP/1.1\r\nHost: node0\r\nUser-Agent: somebody else\r\n\r\n";
    EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL), std::ssize(request));
    close(socket);
  }
  EXPECT_TRUE(soon([&] { return agent_.refused() == 10; }));
}

// Whoever connects and says nothing takes no place of a rank for long, nor without bound.
TEST_F(AgentTest, RefusesCrowdsOfSilentCallers) {
  std::vector<int> sockets;
  for (int caller = 0; caller < 300; ++caller) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_GE(socket, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(agent_.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    sockets.push_back(socket);
  }
  EXPECT_TRUE(soon([&] { return agent_.refused() >= 300 - 256; }));
  for (const int socket : sockets) close(socket);
  EXPECT_TRUE(soon([&] { return agent_.refused() == 300; }));
  RemoteFile file = remote();
  EXPECT_TRUE(file.begin(Ask::size).ok());
  EXPECT_TRUE(file.end().ok());
}

// A process begins with fewer descriptors than a large job's ranks need, but may ask for more.
TEST(AgentLimitsTest, ServesMoreRanksThanDescriptorsAtFirst) {
  constexpr rlim_t few = 64;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit limited = before;
  limited.rlim_cur = few;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limited), 0);
  Agent agent;
  EXPECT_TRUE(agent.start());
  std::vector<Connection> connections(few);
  for (Connection& connection : connections)
    EXPECT_TRUE(Connection::dial(address_of(agent), &connection).ok());
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// Ranks that write and read much at the same time: some wait until there is room.
TEST(AgentLimitsTest, BoundsTheMemoryOfMessages) {
  constexpr int64_t part = 1 << 20, most = 3 * part;
  constexpr int ranks = 8, rounds = 5;
  test::TemporaryFile disk;
  Agent agent(most);
  ASSERT_TRUE(agent.start());
  auto terms = std::make_shared<FileTerms>();
  terms->path = disk.path();
  terms->mode = OpenMode::read_write;
  terms->options = small_options();
  terms->options.cache_size_bytes = 2 * ranks * part;
  terms->owners = Owners{FileDomains(0, page, 1), {address_of(agent)}}.encoded();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RemoteFile file(std::make_shared<Line>(address_of(agent)), terms);
      const std::vector<Extent> extents{{rank * part, part}};
      for (int round = 0; round < rounds; ++round) {
        const std::string text(part, static_cast<char>('a' + rank + round));
        ASSERT_TRUE(file.begin_write(extents, bytes_of(text)).ok());
        ASSERT_TRUE(file.end().ok());
        ASSERT_TRUE(file.begin_read(extents).ok());
        ASSERT_TRUE(file.end().ok());
        ASSERT_EQ(text_of(file.answer()), text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(agent.memory().highest(), part);
  EXPECT_LE(agent.memory().highest(), most);
  // A message that is larger than all of it.
  RemoteFile file(std::make_shared<Line>(address_of(agent)), terms);
  const std::string text(2 * most, 'z');
  ASSERT_TRUE(file.begin_write(std::vector<Extent>{{0, 2 * most}}, bytes_of(text)).ok());
  ASSERT_TRUE(file.end().ok());
  EXPECT_GT(agent.memory().highest(), 2 * most);
}

}  // namespace
}  // namespace forebay::agent
