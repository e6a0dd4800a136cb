// The path of a file is the one that leads to it now, and a file that was found stays the same
// whatever becomes of its name.
#include "runtime/node/file_identity.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace forebay::runtime {
namespace {

namespace fs = std::filesystem;

class FileIdentityTest : public testing::Test {
 protected:
  FileIdentityTest() {
    std::string name = fs::canonical(testing::TempDir()) / "forebay-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~FileIdentityTest() override { fs::remove_all(root_); }

  fs::path make_file(const fs::path& name) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << "x";
    return root_ / name;
  }

  static std::string found_at(const fs::path& path) {
    FoundFile found;
    EXPECT_TRUE(find_file(path, &found).ok()) << path;
    return found.absolute_path;
  }

  fs::path root_;
};

TEST_F(FileIdentityTest, TellsThePathWithoutLinks) {
  const fs::path file = make_file("folder/file");
  fs::create_directory_symlink("folder", root_ / "link");
  fs::create_symlink("link/file", root_ / "name");
  for (const fs::path& path : {file, root_ / "link/file", root_ / "name"})
    EXPECT_EQ(found_at(path), file);
  const fs::path before = fs::current_path();
  fs::current_path(root_);
  EXPECT_EQ(found_at("folder/../link/file"), file);
  fs::current_path(before);
}

TEST_F(FileIdentityTest, FindsRegularFilesOnly) {
  for (const fs::path& path : {root_, root_ / "missing", fs::path("/dev/null")}) {
    FoundFile found;
    EXPECT_EQ(find_file(path, &found).code, Code::unsupported) << path;
  }
}

TEST_F(FileIdentityTest, TellsThatNoDescriptorIsFree) {
  const fs::path file = make_file("file");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  FoundFile found;
  const Status status = find_file(file, &found);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(status.system_error, EMFILE);
}

TEST_F(FileIdentityTest, OpensTheFileThatWasFound) {
  const fs::path file = make_file("file");
  FoundFile found;
  ASSERT_TRUE(find_file(file, &found).ok());
  fs::remove(file);
  std::ofstream(file) << "another file";
  std::ostringstream bytes;
  bytes << std::ifstream(found.path_to_open).rdbuf();
  EXPECT_EQ(bytes.str(), "x");
  std::ofstream(found.path_to_open, std::ios::app) << "yz";
  ASSERT_TRUE(ask_stamp(&found));
  EXPECT_EQ(found.stamp.size, 3);
  EXPECT_EQ(found_at(found.path_to_open), "") << "a file without a name";
}

TEST_F(FileIdentityTest, KnowsANameThatEndsLikeThatOfARemovedFile) {
  const fs::path file = make_file("file (deleted)");
  EXPECT_EQ(found_at(file), file);
}

TEST_F(FileIdentityTest, FollowsAFolderThatIsRenamed) {
  make_file("first/file");
  const fs::path link = root_ / "link";
  fs::create_directory_symlink("first", link);
  EXPECT_EQ(found_at(link / "file"), root_ / "first/file");
  fs::rename(root_ / "first", root_ / "second");
  fs::remove(link);
  fs::create_directory_symlink("second", link);
  EXPECT_EQ(found_at(link / "file"), root_ / "second/file");
}

TEST_F(FileIdentityTest, FollowsALinkToAnotherFile) {
  make_file("first/file");
  make_file("second/file");
  const fs::path link = root_ / "link";
  for (const char* folder : {"first", "second", "first"}) {
    fs::remove(link);
    fs::create_directory_symlink(folder, link);
    EXPECT_EQ(found_at(link / "file"), root_ / folder / "file");
  }
}

TEST_F(FileIdentityTest, TellsTheNameThatWasGivenAmongSeveral) {
  const fs::path file = make_file("file"), other = root_ / "other";
  fs::create_hard_link(file, other);
  EXPECT_EQ(found_at(file), file);
  EXPECT_EQ(found_at(other), other);
  EXPECT_EQ(found_at(file), file);
}

}  // namespace
}  // namespace forebay::runtime
