// The path of a file is the one that leads to it now, and a file that is opened again costs no walk
// through its folders.
#include "runtime/node/file_identity.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>

namespace {
std::atomic<int> walks = 0;  // calls of realpath()
}  // namespace

// Replaces the C library's.
extern "C" char* realpath(const char* path, char* resolved) noexcept {
  using Function = char* (*)(const char*, char*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "realpath"));
  ++walks;
  return real(path, resolved);
}

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

TEST_F(FileIdentityTest, WalksOnceThroughTheFolders) {
  const fs::path file = make_file("folder/file");
  fs::create_directory_symlink("folder", root_ / "link");
  for (const fs::path& path : {file, root_ / "link/file"}) {
    const int before = walks;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(found_at(path), file);
    EXPECT_EQ(walks, before + 1) << path;
  }
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
