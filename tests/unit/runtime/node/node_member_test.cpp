// Processes that join a node's registry: more than it first has room for, all of them leaving
// again, and some that died at a bad moment.
#include "runtime/node/node_member.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "runtime/cache/cached_file.h"

namespace forebay::runtime {
namespace {

class NodeMemberTest : public testing::Test {
 protected:
  NodeMemberTest() {
    leave_node();  // which an earlier test may have joined
    char folder[] = "/tmp/node-XXXXXX";
    folder_ = mkdtemp(folder);
  }
  ~NodeMemberTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<NodeMember> join(bool* created) {
    Status status;
    std::unique_ptr<NodeMember> node =
        NodeMember::join(folder_, {"job", "job"}, true, created, &status);
    EXPECT_TRUE(status.ok());
    return node;
  }

  std::string folder_;
};

TEST_F(NodeMemberTest, MoreProcessesThanItHasRoomForAtFirst) {
  std::vector<std::unique_ptr<NodeMember>> nodes;
  std::set<uint32_t> numbers;
  for (uint32_t p = 0; p < 3 * first_processes; ++p) {
    bool created = false;
    nodes.push_back(join(&created));
    ASSERT_NE(nodes.back(), nullptr);
    EXPECT_EQ(created, p == 0);
    numbers.insert(nodes.back()->process());
  }
  EXPECT_EQ(numbers.size(), nodes.size());
  const uint32_t left = nodes.back()->process();
  nodes.pop_back();
  bool created = true;
  nodes.push_back(join(&created));
  EXPECT_FALSE(created);
  EXPECT_EQ(nodes.back()->process(), left);
  EXPECT_TRUE(nodes.front()->dead_processes().empty());
  EXPECT_FALSE(std::filesystem::is_empty(folder_));
  nodes.clear();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// The committer looks for the living now and then, so it may leave a registry that the last process
// has removed when the next launch under the same name has made its own.
TEST_F(NodeMemberTest, ACaretakerThatLeavesLateRemovesNothingOfTheNextRegistry) {
  bool created = false;
  std::unique_ptr<NodeMember> last = join(&created);
  Status status;
  std::unique_ptr<NodeMember> caretaker = NodeMember::adopt(folder_ + "/job.registry", &status);
  ASSERT_NE(caretaker, nullptr);
  last.reset();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  const std::unique_ptr<NodeMember> next = join(&created);
  EXPECT_TRUE(created);
  const std::vector<std::byte> record{std::byte{1}, std::byte{2}};
  ASSERT_TRUE(next->keep_record("kept", record).ok());
  const std::string arena = folder_ + "/job.arena0";
  std::ofstream(arena) << "stands for the next arena";
  next->registry().arenas = 1;
  caretaker.reset();
  EXPECT_EQ(next->record("kept"), record);
  EXPECT_TRUE(std::filesystem::exists(arena));
}

// The registry is empty: the next process joins it as though it had made it.
TEST_F(NodeMemberTest, WhoDiedBeforeItEnteredLeavesARegistryToOthers) {
  const pid_t maker = fork();
  if (maker == 0) {
    bool created = false;
    const std::unique_ptr<NodeMember> node = join(&created);
    node->registry().processes[node->process()] = {};
    _exit(0);
  }
  int ended = 0;
  ASSERT_EQ(waitpid(maker, &ended, 0), maker);
  ASSERT_FALSE(std::filesystem::is_empty(folder_));
  bool created = true;
  EXPECT_EQ(join(&created)->process(), 0u);
  EXPECT_FALSE(created);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// The bytes that each file of an earlier job has got, or lacks for a reason.
class Told final : public Notices {
 public:
  void saved(const std::string& path, int64_t bytes) override { all.push_back({path, bytes, ""}); }
  void missing(const std::string& path, int64_t bytes, const std::string& problem,
               const std::string& arena_dir) override {
    all.push_back({path, bytes, problem + " in " + arena_dir});
  }

  std::vector<std::tuple<std::string, int64_t, std::string>> all;
};

// What the first process of another job is told.
auto told_to(const std::string& job, Options options) {
  options.job = job;
  Told told;
  Status status;
  EXPECT_NE(node_of(Scope::node, options, &status, told), nullptr);
  leave_node();
  return told.all;
}

TEST_F(NodeMemberTest, TheNextJobIsToldWhatBecameOfTheBytesOfOneThatWasKilled) {
  const std::string committed = folder_ + "/committed", replaced = folder_ + "/replaced";
  Options options;
  options.arena_dir = folder_;
  options.committer = false;
  options.step_aside = StepAside::never;
  for (const std::string& path : {committed, replaced}) std::ofstream{path};
  const pid_t killed = fork();
  if (killed == 0) {
    options.job = "killed";
    const std::byte bytes[5]{};
    for (const std::string& path : {committed, replaced}) {
      Status status;
      auto file = CachedFile::open(path, OpenMode::read_write, options, &status);
      if (file != nullptr) (void)file->write(0, bytes, sizeof bytes);
      (void)file.release();
    }
    _exit(0);
  }
  int ended = 0;
  ASSERT_EQ(waitpid(killed, &ended, 0), killed);
  std::filesystem::rename(replaced, folder_ + "/moved");
  std::ofstream{replaced};

  const auto told = told_to("next", options);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0], std::tuple(committed, 5, ""));
  EXPECT_EQ(told[1], std::tuple(replaced, 5, "another file has its name in " + folder_));
  EXPECT_EQ(std::filesystem::file_size(committed), 5u);
  EXPECT_TRUE(told_to("later", options).empty());
}

// Ends the process at its next look whether a file may be accessed, as it looks for the committer.
void end_at_access() {
  constexpr uint32_t numbers[] = {
#ifdef SYS_access
      SYS_access,
#endif
      SYS_faccessat, SYS_faccessat2};
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const uint32_t number : numbers) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(1);
}

TEST_F(NodeMemberTest, WhoDiesBeforeTheCommitterStartsLeavesTheStartToOthers) {
  bool created = false;
  const std::unique_ptr<NodeMember> node = join(&created);
  for (int process = 0; process < 2; ++process) {  // the second one makes the same attempt
    const pid_t child = fork();
    if (child == 0) {
      const std::unique_ptr<NodeMember> own = join(&created);
      own->want_committer();
      end_at_access();
      own->call_agent();
      _exit(0);
    }
    int ended = 0;
    ASSERT_EQ(waitpid(child, &ended, 0), child);
    ASSERT_TRUE(WIFSIGNALED(ended)) << WEXITSTATUS(ended);
    EXPECT_EQ(WTERMSIG(ended), SIGSYS);
    EXPECT_FALSE(node->registry().cared_for.load());
  }
}

TEST_F(NodeMemberTest, SeveralThreadsKeepTheSameRecord) {
  bool created = false;
  const std::unique_ptr<NodeMember> node = join(&created);
  const std::vector<std::byte> record(1000, std::byte{7});
  constexpr int names = 200;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int name = 0; name < names; ++name) {
        if (!node->keep_record(std::to_string(name), record).ok() ||
            node->record(std::to_string(name)) != record)
          ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace forebay::runtime
