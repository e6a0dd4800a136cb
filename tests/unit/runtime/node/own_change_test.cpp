// What the notes of a job's own changes explain.
#include "runtime/node/own_change.h"

#include <gtest/gtest.h>

#include "runtime/node/file_identity.h"
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

}  // namespace
}  // namespace forebay::runtime
