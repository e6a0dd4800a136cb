// An agent and its callers in one process, over the loopback.

#include "agent/agent.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "agent/claims.h"
#include "agent/file_terms.h"
#include "agent/job_file.h"
#include "agent/line.h"
#include "agent/remote_file.h"
#include "runtime/cache/cached_file.h"
#include "unit/temporary_file.h"

namespace forebay::agent {
namespace {

using runtime::CachedFile;
using runtime::OpenMode;

constexpr int64_t page = 4096;

Options small_options() {
  Options options;
  options.scope = Scope::job;
  options.page_size_bytes = page;
  options.cache_size_bytes = 16 * page;
  options.step_aside = StepAside::never;
  options.write_behind = false;  // to the thread sanitizer a write beside a commit is a race
  return options;
}

Address address_of(const Agent& agent) {
  Address address = own_address();
  address.port = agent.port();
  address.key = agent.key();
  return address;
}

bool soon(const std::function<bool()>& holds) {
  for (int attempt = 0; attempt < 2000 && !holds(); ++attempt) poll(nullptr, 0, 5);
  return holds();
}

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(agent_.start());
    own_agent_ = std::make_unique<Agent>();
    ASSERT_TRUE(own_agent_->start());
  }
  FileDomains domains() const {
    const FileDomains in_turn(0, page, 2);
    return first_touch_ ? in_turn.by_first_touch() : in_turn;
  }
  // Two, of which this node is the second: pages belong to them in turn, or as nodes claim them.
  Owners owners() const { return {domains(), {address_of(agent_), address_of(*own_agent_)}}; }
  std::shared_ptr<const FileTerms> terms() const {
    auto terms = std::make_shared<FileTerms>();
    terms->path = disk_.path();
    terms->mode = OpenMode::read_write;
    terms->options = small_options();
    terms->owners = owners().encoded();
    return terms;
  }
  // As that of another process.
  std::shared_ptr<Line> line() const { return std::make_shared<Line>(address_of(agent_)); }
  RemoteFile remote() const { return RemoteFile(line(), terms()); }
  std::string stored() const { return disk_.content(); }

  test::TemporaryFile disk_;
  bool first_touch_ = false;
  Agent agent_;  // of the other node
  std::unique_ptr<Agent> own_agent_;
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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

TEST(FileTermsTest, SurviveTheirEncoding) {
  FileTerms terms;
  terms.path = "/somewhere/file";
  terms.mode = OpenMode::write_only;
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

// A file whose chunks belong in turn to this node and to another: both are this process here, with
// one cache, but the bytes go different ways.
class JobFileTest : public AgentTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(AgentTest::SetUp());
    open(small_options());
  }
  void open(const Options& options) {
    file_.reset();
    here_.reset();
    Status status;
    here_ = CachedFile::open(disk_.path(), OpenMode::read_write, options, &status);
    ASSERT_NE(here_, nullptr);
    file_ = std::make_unique<JobFile>(*here_, owners(), 1, *terms());
  }
  void TearDown() override {
    file_.reset();
    here_.reset();
  }

  std::unique_ptr<CachedFile> here_;
  std::unique_ptr<JobFile> file_;
};

// Long: runs of at least so many bytes go past the caches.
class JobFileModelTest : public JobFileTest,
                         public ::testing::WithParamInterface<std::tuple<int64_t, bool>> {};

INSTANTIATE_TEST_SUITE_P(LongAndFirstTouch, JobFileModelTest,
                         ::testing::Combine(::testing::Values(1 << 20, 2 * page, 20),
                                            ::testing::Bool()));

TEST_P(JobFileModelTest, AgreesWithAModel) {
  const int64_t least_long = std::get<0>(GetParam());
  first_touch_ = std::get<1>(GetParam());
  Options options = small_options();
  options.bypass_bytes = least_long;
  ASSERT_NO_FATAL_FAILURE(open(options));
  std::mt19937_64 random(7);
  const auto draw = [&](int64_t below) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  };
  std::string model;
  // Three bytes of data, two of gap, three of data in each ten.
  const Tiling view{Layout::indexed({0, 5}, {3, 3}, 1, Layout::block(1)), 1, 10};
  for (int step = 0; step < 3000; ++step) {
    const bool writes = draw(2) == 0;
    const bool tiled = draw(2) == 0;
    const bool scattered = draw(2) == 0;
    const int64_t bytes = draw(draw(8) == 0 ? 5 * page : 50);
    const Access access{writes, false, tiled ? &view : nullptr, draw(6 * page), bytes};
    std::string memory(static_cast<std::size_t>(2 * bytes), '?');
    for (char& c : memory) c = static_cast<char>('a' + draw(26));
    const std::string before = memory;
    const Tiling every_second{Layout::block(1), reinterpret_cast<intptr_t>(memory.data()), 2};
    int64_t moved = -1;
    const Status status =
        scattered ? file_->access(access, every_second, &moved)
                  : file_->access(access, reinterpret_cast<std::byte*>(memory.data()), &moved);
    ASSERT_TRUE(status.ok()) << describe(status.code);
    int64_t expected = 0;
    for (int64_t b = 0; b < bytes; ++b) {
      const auto offset = static_cast<std::size_t>(tiled ? view.offset_of(access.position + b)
                                                         : access.position + b);
      const auto at = static_cast<std::size_t>(scattered ? 2 * b : b);
      if (writes) {
        if (model.size() <= offset) model.resize(offset + 1);
        model[offset] = before[at];
        expected = bytes;
      } else if (offset < model.size()) {
        ASSERT_EQ(memory[at], model[offset]) << "step " << step << " offset " << offset;
        ++expected;
      }
    }
    ASSERT_EQ(moved, expected) << "step " << step;
    int64_t size = 0;
    ASSERT_TRUE(file_->size(&size).ok());
    ASSERT_EQ(size, std::ssize(model));
    if (draw(100) == 0) {
      ASSERT_TRUE(file_->commit_everywhere(draw(2) == 0).ok());
      ASSERT_EQ(stored(), model);
    }
    if (draw(200) == 0 && !model.empty()) {
      const int64_t cut = draw(std::ssize(model));
      ASSERT_TRUE(file_->commit_everywhere(true).ok());
      file_->truncate_everywhere(cut);
      ASSERT_EQ(truncate(disk_.path().c_str(), cut), 0);
      file_->truncate_everywhere(cut);
      model.resize(static_cast<std::size_t>(cut));
    }
  }
  ASSERT_TRUE(file_->leave(false).ok());
  ASSERT_TRUE(here_->close(false).ok());
  EXPECT_EQ(stored(), model);
  EXPECT_EQ(file_->statistics().bypass_calls > 0, least_long <= 2 * page);
}

// The file through two nodes whose chunks belong to the node that writes first: `file_` is the
// second node's, `other_` the first one's. Pages 0 and 2 have their home at the first node.
class FirstTouchTest : public JobFileTest {
 protected:
  void SetUp() override {
    first_touch_ = true;
    ASSERT_NO_FATAL_FAILURE(JobFileTest::SetUp());
    other_ = std::make_unique<JobFile>(*here_, owners(), 0, *terms());
  }
  void TearDown() override {
    other_.reset();
    JobFileTest::TearDown();
  }
  static Status write(JobFile& file, int64_t offset, const std::string& text) {
    return file.write(offset, bytes_of(text).data(), std::ssize(text));
  }
  static Status read(JobFile& file, int64_t offset, std::string* text) {
    text->resize(4);
    int64_t moved = 0;
    const Status status = file.read(offset, reinterpret_cast<std::byte*>(text->data()), 4, &moved);
    text->resize(static_cast<std::size_t>(moved));
    return status;
  }
  std::unique_ptr<JobFile> other_;
};

TEST_F(FirstTouchTest, AsksTheNodeThatWroteFirst) {
  std::string text;
  ASSERT_TRUE(read(*other_, 0, &text).ok());
  EXPECT_EQ(text, "");
  ASSERT_TRUE(write(*file_, 0, "mine").ok());
  ASSERT_TRUE(write(*other_, 0, "ours").ok());  // claims nothing any more
  ASSERT_TRUE(read(*file_, 0, &text).ok());
  EXPECT_EQ(text, "ours");
  ASSERT_TRUE(write(*other_, 2 * page, "last").ok());
  JobFile late(*here_, owners(), 0, *terms());
  own_agent_.reset();  // the second node dies
  EXPECT_FALSE(read(*other_, 0, &text).ok());
  EXPECT_FALSE(read(late, 0, &text).ok());
  ASSERT_TRUE(read(*other_, 2 * page, &text).ok());
  EXPECT_EQ(text, "last");
}

TEST_F(FirstTouchTest, ClaimsByALongWrite) {
  Options options = small_options();
  options.bypass_bytes = page;
  here_->change_options(options);
  ASSERT_TRUE(write(*file_, 0, std::string(3 * page, 'x')).ok());
  EXPECT_EQ(stored(), std::string(3 * page, 'x'));
  std::string text;
  ASSERT_TRUE(read(*other_, page, &text).ok());
  EXPECT_EQ(text, "xxxx");
  own_agent_.reset();
  EXPECT_FALSE(read(*other_, 0, &text).ok());
  EXPECT_FALSE(read(*other_, 2 * page, &text).ok());
}

TEST_F(FirstTouchTest, LeavesWhatIsOnlyReadToItsHome) {
  std::ofstream(disk_.path()) << std::string(4 * page, 'r');
  std::string text;
  for (int64_t at = 0; at < 4 * page; at += page) {
    ASSERT_TRUE(read(*file_, at, &text).ok());
    EXPECT_EQ(text, "rrrr");
  }
  ASSERT_TRUE(file_->leave(false).ok());
  EXPECT_EQ(file_->statistics().read_calls, 4);
  ASSERT_TRUE(write(*other_, page, "claimed").ok());  // its home has only read it
  own_agent_.reset();
  ASSERT_TRUE(read(*other_, page, &text).ok());
  EXPECT_EQ(text, "clai");
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
  const runtime::FileIdentity file{1, 2, 3}, other{1, 3, 3};
  EXPECT_EQ(claims.of(file, 1)->owner_of(5), Owners::none);
  EXPECT_EQ(claims.of(file, 1)->claim(5, 2), 2u);
  EXPECT_EQ(claims.of(file, 1)->claim(5, 1), 2u);
  EXPECT_EQ(claims.of(file, 1)->owner_of(5), 2u);
  EXPECT_EQ(claims.of(other, 1)->owner_of(5), Owners::none);
  EXPECT_EQ(claims.of(file, 2)->owner_of(5), Owners::none);
}

TEST_F(JobFileTest, FollowsAnOptionThatChanges) {
  const std::string text(page, 'x');
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  ASSERT_TRUE(file_->write(0, bytes, page).ok());
  EXPECT_EQ(stored(), "");
  Options options = small_options();
  options.bypass_bytes = page;
  here_->change_options(options);
  ASSERT_TRUE(file_->write(2 * page, bytes, page).ok());
  EXPECT_EQ(stored(), std::string(2 * page, '\0') + text);
}

TEST_F(JobFileTest, ReadsZerosBelowTheEndThatAnotherOwnerKnows) {
  const std::string last = "end";
  ASSERT_TRUE(file_->write(3 * page, reinterpret_cast<const std::byte*>(last.data()), 3).ok());
  std::string memory(4 * page, '?');
  int64_t moved = 0;
  ASSERT_TRUE(file_->read(0, reinterpret_cast<std::byte*>(memory.data()), 4 * page, &moved).ok());
  EXPECT_EQ(moved, 3 * page + 3);
  EXPECT_EQ(memory.substr(0, 3 * page), std::string(3 * page, '\0'));
  EXPECT_EQ(memory.substr(3 * page, 4), "end?");
}

TEST_F(JobFileTest, CountsTheProgramsCalls) {
  const std::vector<std::byte> bytes(2 * page);
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE(file_->write(page / 2, bytes.data(), std::ssize(bytes)).ok());
  }
  ASSERT_TRUE(file_->leave(false).ok());
  EXPECT_EQ(file_->statistics().write_calls, 3);
  EXPECT_EQ(file_->statistics().write_bytes, 6 * page);
}

TEST_F(JobFileTest, AsksNobodyAsLongAsOwnersHoldNothing) {
  Owners nobody = owners();
  for (Address& agent : nobody.agents) agent.key[1] ^= 1;
  JobFile lost(*here_, nobody, 1, *terms());
  Options options = small_options();
  options.bypass_bytes = 2 * page;
  here_->change_options(options);
  std::vector<std::byte> bytes(4 * page);
  EXPECT_EQ(lost.write(0, bytes.data(), 4 * page).code, Code::network);
  ASSERT_TRUE(here_->note_held(runtime::Held::nothing));
  EXPECT_TRUE(lost.write(0, bytes.data(), 4 * page).ok());
  int64_t moved = 0;
  EXPECT_TRUE(lost.read(page, bytes.data(), 4 * page, &moved).ok());
  EXPECT_EQ(moved, 3 * page);
  EXPECT_TRUE(lost.size(&moved).ok());
  EXPECT_EQ(moved, 4 * page);
  EXPECT_TRUE(lost.write(page, bytes.data(), 1).ok());  // this node's own, and tells the owners
  EXPECT_EQ(here_->held(), runtime::Held::told);
  EXPECT_FALSE(here_->note_held(runtime::Held::nothing));
  EXPECT_EQ(lost.write(0, bytes.data(), 4 * page).code, Code::network);
  EXPECT_TRUE(lost.leave(true).ok());
}

TEST_F(JobFileTest, FailsWhereAnOwnerCannotBeTold) {
  FileTerms elsewhere = *terms();
  elsewhere.path += "-that-is-not-there";
  JobFile file(*here_, owners(), 1, elsewhere);
  const std::byte byte{1};
  EXPECT_TRUE(file.write(page, &byte, 0).ok());  // nothing: nobody need know
  const Status status = file.write(page, &byte, 1);
  EXPECT_EQ(status.code, Code::unsupported) << describe(status.code);
  EXPECT_TRUE(file.leave(true).ok());
}

// No rank of the owner's node answers.
class SilentExchange final : public OwnersExchange {
 public:
  explicit SilentExchange(int64_t ranks = 2) : ranks_(ranks) {}
  int64_t ranks() const override { return ranks_; }
  bool reaches(uint32_t) const override { return true; }
  Status begin_write(uint32_t, std::span<const Extent>, std::span<const std::byte> data) override {
    asked_bytes = std::ssize(data);
    return {Code::network, 0, -1};
  }
  Status begin_read(uint32_t, std::span<const Extent>, int64_t) override {
    return {Code::network, 0, -1};
  }
  Status end(uint32_t, int64_t*) override { return {Code::network, 0, -1}; }
  std::span<const std::byte> answer(uint32_t) const override { return {}; }
  int64_t storage_bytes_for_others() const override { return 0; }

  int64_t asked_bytes = 0;  // by the latest write

 private:
  int64_t ranks_;
};

// What all ranks move at once must have room in the owners' caches, however few these are.
TEST_F(JobFileTest, MovesLessAtOnceToFewOwnersThanToMany) {
  Options options = small_options();
  options.cache_size_bytes = 4096 * page;
  options.bypass_bytes = beyond_capacity;
  open(options);
  const std::string text(1024 * page, 'x');
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  const auto most_at_once = [&](JobFile& file, int64_t ranks) {
    SilentExchange exchange(ranks);
    file.exchange_over(&exchange);
    int64_t moved = 0;
    // Failure of the first window ends the access.
    const Access whole{true, true, nullptr, 0, std::ssize(text)};
    EXPECT_EQ(file.access(whole, const_cast<std::byte*>(bytes), &moved).code, Code::network);
    file.exchange_over(nullptr);
    return exchange.asked_bytes;
  };
  Owners one_has_all = owners();
  one_has_all.domains = one_has_all.domains.in_rounds_of(1);
  JobFile to_one(*here_, one_has_all, 1, *terms());
  const int64_t room = here_->pace_bytes();
  EXPECT_EQ(most_at_once(to_one, 8), room / 16);
  // Twice as large a window, of which the other node owns half.
  EXPECT_NEAR(static_cast<double>(most_at_once(*file_, 8)), static_cast<double>(room) / 16, page);
  EXPECT_TRUE(to_one.leave(true).ok());
}

// Of a file that is only read: such a run may have been fetched ahead.
TEST_F(AgentTest, LeavesLongCollectiveReadsToTheNodesOwnCache) {
  std::ofstream(disk_.path()) << std::string(8 * page, 'r');
  Options options = small_options();
  options.bypass_bytes = 2 * page;
  options.read_ahead_bytes = 0;
  Status status;
  const auto here = CachedFile::open(disk_.path(), OpenMode::read_only, options, &status);
  ASSERT_NE(here, nullptr);
  JobFile file(*here, owners(), 1, *terms());
  std::string memory(4 * page, '?');
  auto* const to = reinterpret_cast<std::byte*>(memory.data());
  int64_t moved = 0;
  ASSERT_TRUE(file.read(2 * page, to, 4, &moved).ok());  // of the other node's page, a copy
  SilentExchange exchange;
  file.exchange_over(&exchange);
  EXPECT_EQ(file.access({false, true, nullptr, 2 * page, 4}, to, &moved).code, Code::network);
  const int64_t past = file.statistics().bypass_bytes;
  ASSERT_TRUE(file.access({false, true, nullptr, 0, 4 * page}, to, &moved).ok());
  EXPECT_EQ(memory, std::string(4 * page, 'r'));
  EXPECT_EQ(file.statistics().bypass_bytes, past + 3 * page);  // the cache held the fourth
  EXPECT_TRUE(file.leave(false).ok());
}

// The owners get other parts: what was written is with storage, and bytes go the new ways.
TEST_F(JobFileTest, GivesTheOwnersOtherParts) {
  const std::string text(4 * page, 'x');
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  ASSERT_TRUE(file_->write(0, bytes, 4 * page).ok());
  EXPECT_EQ(file_->bytes_by_owner(), (std::vector<int64_t>{2 * page, 2 * page}));
  const FileDomains before = file_->domains();
  ASSERT_TRUE(file_->prepare_change(FileDomains(0, 4 * page, 2)).ok());
  EXPECT_EQ(file_->domains().chunk_bytes(), before.chunk_bytes());
  ASSERT_TRUE(file_->commit_for_change().ok());
  EXPECT_EQ(stored(), text);
  file_->change();
  EXPECT_EQ(file_->domains().chunk_bytes(), 4 * page);
  EXPECT_EQ(file_->owners().domains.chunk_bytes(), 4 * page);
  EXPECT_EQ(here_->owners(), file_->owners().identity());
  const std::optional<Owners> record = Owners::decoded(here_->owners_record());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->domains.chunk_bytes(), 4 * page);
  ASSERT_TRUE(file_->write(page, bytes, 2 * page).ok());
  EXPECT_EQ(file_->bytes_by_owner(), (std::vector<int64_t>{4 * page, 2 * page}));
  std::string memory(4 * page, '?');
  int64_t moved = 0;
  ASSERT_TRUE(file_->read(0, reinterpret_cast<std::byte*>(memory.data()), 4 * page, &moved).ok());
  EXPECT_EQ(memory, text);
}

TEST_F(JobFileTest, ReportsAnOwnerThatHasGone) {
  const std::byte byte{1};
  ASSERT_TRUE(file_->write(0, &byte, 1).ok());
  Owners nobody = owners();
  for (Address& agent : nobody.agents) agent.key[1] ^= 1;
  JobFile lost(*here_, nobody, 1, *terms());
  EXPECT_EQ(lost.write(0, &byte, 1).code, Code::network);
  EXPECT_TRUE(lost.write(page, &byte, 1).ok());  // this node's own
  EXPECT_TRUE(lost.leave(true).ok());
}

}  // namespace
}  // namespace forebay::agent
