#include "storage/small_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>

#include "unit/temporary_file.h"

namespace forebay {
namespace {

TEST(SmallFiles, AreReadToTheirEndAlsoThoseOfTheKernel) {
  const std::string text(10'000, 'x');
  const test::TemporaryFile file(text);
  EXPECT_EQ(text_of_file(file.path()), text);
  EXPECT_NE(text_of_file("/proc/self/mountinfo").find(" - "), std::string::npos);
}

TEST(SmallFiles, ThatDoNotExistAreEmpty) {
  EXPECT_EQ(text_of_file("/nonexistent/file"), "");
  EXPECT_TRUE(names_in("/nonexistent").empty());
  EXPECT_EQ(errno, ENOENT);
}

TEST(SmallFiles, AFolderGivesAllNamesInIt) {
  const test::TemporaryFile file;
  const std::filesystem::path path(file.path());
  const std::vector<std::string> names = names_in(path.parent_path().string());
  EXPECT_EQ(std::ranges::count(names, path.filename().string()), 1);
}

}  // namespace
}  // namespace forebay
