// Processes that join a node's registry: more than it has room for at first, all leaving again, and
// one that died between making the registry and entering it.
#include "runtime/node.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace forebay::runtime {
namespace {

class NodeTest : public testing::Test {
 protected:
  NodeTest() {
    char folder[] = "/tmp/node-XXXXXX";
    folder_ = mkdtemp(folder);
  }
  ~NodeTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Node> join(bool* created) {
    Status status;
    std::unique_ptr<Node> node = Node::join(folder_, {"job", "job"}, true, created, &status);
    EXPECT_TRUE(status.ok());
    return node;
  }

  std::string folder_;
};

TEST_F(NodeTest, MoreProcessesThanItHasRoomForAtFirst) {
  std::vector<std::unique_ptr<Node>> nodes;
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

// Nobody is in the registry: the next process enters it as though it had made it.
TEST_F(NodeTest, WhoDiedBeforeItEnteredLeavesARegistryToOthers) {
  const pid_t maker = fork();
  if (maker == 0) {
    bool created = false;
    const std::unique_ptr<Node> node = join(&created);
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

}  // namespace
}  // namespace forebay::runtime
