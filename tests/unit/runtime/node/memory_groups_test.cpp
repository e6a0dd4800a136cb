// Finds the limits of control groups in made-up hierarchies of both versions.
#include "runtime/node/memory_groups.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace forebay::runtime {
namespace {

constexpr int64_t mebibyte = 1 << 20;

class MemoryGroupsTest : public ::testing::Test {
 protected:
  MemoryGroupsTest() : top_(testing::TempDir() + "/forebay-groups-XXXXXX") { mkdtemp(top_.data()); }
  ~MemoryGroupsTest() override { std::filesystem::remove_all(top_); }

  void write(const std::string& folder, const std::string& name, const std::string& text) {
    std::filesystem::create_directories(top_ + folder);
    std::ofstream(top_ + folder + "/" + name) << text << "\n";
  }
  // A line of /proc/self/mountinfo.
  std::string mount(const std::string& root, const std::string& type, const std::string& options) {
    return "35 24 0:30 " + root + " " + top_ + " rw,nosuid shared:9 - " + type + " cgroup " +
           options + "\n";
  }
  std::string version2() { return mount("/", "cgroup2", "rw,nsdelegate"); }

  std::string top_;
};

TEST_F(MemoryGroupsTest, TheLowestLimitOfTheGroupAndThoseAboveHolds) {
  write("/job", "memory.max", std::to_string(512 * mebibyte));
  write("/job/step", "memory.max", std::to_string(256 * mebibyte));
  write("/job/step", "memory.high", "max");
  write("/job/step/task", "memory.max", "max");
  EXPECT_EQ(MemoryGroups("0::/job/step/task\n", version2()).limit_bytes(), 256 * mebibyte);
  EXPECT_EQ(MemoryGroups("0::/job\n", version2()).limit_bytes(), 512 * mebibyte);
  write("/job/step", "memory.high", std::to_string(100 * mebibyte));
  EXPECT_EQ(MemoryGroups("0::/job/step\n", version2()).limit_bytes(), 100 * mebibyte);
}

TEST_F(MemoryGroupsTest, NoLimitIsNone) {
  write("/job", "memory.max", "max");
  for (const char* group : {"0::/job\n", "0::/elsewhere\n", "0::/\n", "", "nonsense", "0::"}) {
    const MemoryGroups groups(group, version2());
    EXPECT_EQ(groups.limit_bytes(), MemoryGroups::unlimited) << group;
    EXPECT_TRUE(groups.have_room_for(mebibyte)) << group;
  }
  EXPECT_EQ(MemoryGroups("0::/job\n", "").limit_bytes(), MemoryGroups::unlimited);
  EXPECT_EQ(MemoryGroups("0::/job\n", "- - -\n - cgroup2").limit_bytes(), MemoryGroups::unlimited);
}

TEST_F(MemoryGroupsTest, Version1HasAControllerForMemory) {
  write("", "memory.limit_in_bytes", "9223372036854771712");
  write("/job", "memory.limit_in_bytes", std::to_string(64 * mebibyte));
  const std::string mounts =
      mount("/", "cgroup", "rw,cpu").replace(0, 2, "36") + mount("/", "cgroup", "rw,memory");
  const std::string membership = "5:cpu:/job\n4:memory:/job\n0::/\n";
  EXPECT_EQ(MemoryGroups(membership, mounts).limit_bytes(), 64 * mebibyte);
  EXPECT_EQ(MemoryGroups("4:memory:/\n", mounts).limit_bytes(), MemoryGroups::unlimited);
}

// In a container, the top of the visible hierarchy is the container's own group.
TEST_F(MemoryGroupsTest, AContainerSeesItsGroupAtTheTop) {
  write("", "memory.max", std::to_string(128 * mebibyte));
  const std::string mounts = mount("/docker/1", "cgroup2", "rw");
  EXPECT_EQ(MemoryGroups("0::/docker/1\n", mounts).limit_bytes(), 128 * mebibyte);
  EXPECT_EQ(MemoryGroups("0::/docker/1/inner\n", mounts).limit_bytes(), 128 * mebibyte);
  EXPECT_EQ(MemoryGroups("0::/\n", mounts).limit_bytes(), 128 * mebibyte);
}

TEST_F(MemoryGroupsTest, AnEighthIsLeftToOthersAndCachedFilesCountAsFree) {
  write("/job", "memory.max", std::to_string(80 * mebibyte));
  write("/job", "memory.current", std::to_string(60 * mebibyte));
  const MemoryGroups groups("0::/job\n", version2());
  EXPECT_TRUE(groups.have_room_for(10 * mebibyte));
  EXPECT_FALSE(groups.have_room_for(10 * mebibyte + 1));
  write("/job", "memory.stat",
        "anon 1\nfile 99999999\nactive_file 4194304\ninactive_file 1048576\nslab 5");
  EXPECT_TRUE(groups.have_room_for(15 * mebibyte));
  EXPECT_FALSE(groups.have_room_for(15 * mebibyte + 1));
}

}  // namespace
}  // namespace forebay::runtime
