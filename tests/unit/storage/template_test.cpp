// The storage template of docs/adding-a-variant.md works unchanged.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "templates/storage_template.h"

namespace forebay {
namespace {

using templates::MemoryStorage;

TEST(StorageTemplate, KeepsWhatWasWritten) {
  EXPECT_EQ(MemoryStorage::open("absent", true, true).status.code, Code::no_such_file);
  MemoryStorage::add_file("file");
  const OpenedStorage opened = MemoryStorage::open("file", true, true);
  ASSERT_TRUE(opened.status.ok());

  std::string hello = "hello";
  std::string world = "world";
  const std::vector<Segment> segments{{reinterpret_cast<std::byte*>(hello.data()), 5},
                                      {reinterpret_cast<std::byte*>(world.data()), 5}};
  const Request write{3, segments};
  StorageCounters counters;
  ASSERT_TRUE(opened.storage->write({&write, 1}, counters).ok());
  int64_t size = 0;
  ASSERT_TRUE(opened.storage->size(&size).ok());
  EXPECT_EQ(size, 13);

  std::string content(20, '?');
  const Segment room{reinterpret_cast<std::byte*>(content.data()), 20};
  const Request read{0, {&room, 1}};
  int64_t transferred = 0;
  ASSERT_TRUE(opened.storage->read({&read, 1}, {&transferred, 1}, counters).ok());
  EXPECT_EQ(transferred, 13);
  EXPECT_EQ(content, std::string(3, '\0') + "helloworld???????");
  EXPECT_EQ(counters.requests, 2);
}

}  // namespace
}  // namespace forebay
