// What the notes of a job's own changes explain.
#include "runtime/node/own_change.h"

#include <gtest/gtest.h>

#include "runtime/node/file_identity.h"
#include "storage/storage.h"
#include "unit/temporary_file.h"

namespace forebay::runtime {
namespace {

// A process that is killed in a write leaves a file that was changed after all other notes.
TEST(OwnChangeTest, IsAWriteThatWasUnderWay) {
  const test::TemporaryFile named;
  FoundFile found;
  ASSERT_TRUE(find_file(named.path(), &found).ok());
  FileEntry file;
  identify(file, found);
  file.changed.modified_ns.store(0);
  const auto refusal = [&] {
    const OwnChange ours = own_change("job", file.identity, file.path, file.changed);
    return change_by_others(file, {&ours, 1});
  };
  EXPECT_NE(refusal(), "");
  ChangeNotes(file, nullptr).begin_write();
  EXPECT_EQ(refusal(), "");
}

// A file whose time of modification is asked for.
class AskedStorage final : public Storage {
 public:
  int64_t modified_ns() override { return ++asked_; }
  int asked() const { return asked_; }
  Status size(int64_t* bytes) override {
    *bytes = 0;
    return {};
  }
  Status flush() override { return {}; }

 private:
  void start(Transfer&) override {}
  void finish(Transfer&) override {}
  int asked_ = 0;
};

// A question beside a write costs time, and GlusterFS with shards may store a wrong size.
TEST(OwnChangeTest, IsAskedForByTheLastWriteUnderWay) {
  FileEntry file;
  AskedStorage storage;
  {
    const NotedWrite unasked(file, nullptr, storage, false);
    { const NotedWrite asked(file, nullptr, storage, true); }
    EXPECT_EQ(storage.asked(), 0);
    EXPECT_EQ(file.changed.being_written.load(), 1);
  }
  EXPECT_EQ(storage.asked(), 1);
  { const NotedWrite unasked(file, nullptr, storage, false); }
  EXPECT_EQ(storage.asked(), 1);
  EXPECT_EQ(file.changed.being_written.load(), 0);
  EXPECT_EQ(file.changed.modified_ns.load(), 1);
}

}  // namespace
}  // namespace forebay::runtime
