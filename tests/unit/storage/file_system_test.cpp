#include "storage/file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <unistd.h>

#include "storage/system_calls.h"
#include "unit/temporary_file.h"

namespace forebay {
namespace {

TEST(FileSystem, ItsTypeTellsWhatNodesSee) {
  EXPECT_EQ(file_system_of(EXT4_SUPER_MAGIC), FileSystem::local);
  EXPECT_EQ(file_system_of(NFS_SUPER_MAGIC), FileSystem::close_to_open);
  EXPECT_EQ(file_system_of(CEPH_SUPER_MAGIC), FileSystem::coherent);
  EXPECT_EQ(file_system_of(0x65735546), FileSystem::fuse);
  EXPECT_EQ(file_system_of(PROC_SUPER_MAGIC), FileSystem::unknown);
}

// The bytes stay as they are, dirty ones of the kernel, too.
TEST(FileSystem, ALocalFileIsRefreshed) {
  const test::TemporaryFile file("bytes");
  const int descriptor = ::open(file.path().c_str(), O_RDWR);
  ASSERT_GE(descriptor, 0);
  EXPECT_FALSE(SystemCalls::real().close_to_open(descriptor));
  ASSERT_EQ(::pwrite(descriptor, "BYTE", 4, 0), 4);
  SystemCalls::real().refresh(descriptor);
  ::close(descriptor);
  EXPECT_EQ(file.content(), "BYTEs");
}

}  // namespace
}  // namespace forebay
