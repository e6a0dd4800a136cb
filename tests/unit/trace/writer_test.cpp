// The trace file that Writer makes contains the given columns of calls.
#include "trace/writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace forebay::trace {
namespace {

struct Calls {
  std::vector<uint8_t> routine;
  std::vector<uint32_t> file, view;
  std::vector<int64_t> position, size, start_ns, end_ns;

  explicit Calls(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      routine.push_back(i % 2);
      file.push_back(1);
      view.push_back(i % 3);
      position.push_back(int64_t{i} * 100);
      size.push_back(i % 50);
      start_ns.push_back(int64_t{i} * 1000);
      end_ns.push_back(int64_t{i} * 1000 + 300);
    }
  }
  CallColumns columns() const { return {routine, file, view, position, size, start_ns, end_ns}; }
};

TEST(TraceWriter, CallsOfSeveralBlocksAreReadAsTheyWereGiven) {
  const ProcessInfo process{{"rank", "2"}, {"routines", "File_read_at File_write_at"}};
  const FileInfo file{1, 9, 4, false, "/made/up"};
  const Calls many(most_accesses + 7), few(3);
  Writer writer(process);
  writer.file(file);
  writer.view({1, {Layout::repeat(10, 64, Layout::block(16)), 128, 640}});
  ASSERT_TRUE(writer.calls(many.columns()));
  ASSERT_TRUE(writer.calls(Calls(0).columns()));
  ASSERT_TRUE(writer.calls(few.columns()));

  Content content;
  ASSERT_TRUE(read(writer.finish(), content));
  EXPECT_TRUE(content.problems.empty());
  EXPECT_EQ(content.process, process);
  EXPECT_EQ(content.files, (std::vector<FileInfo>{file}));
  ASSERT_EQ(content.views.size(), 1u);
  EXPECT_EQ(content.views[0].tiling.extent_bytes, 640);
  EXPECT_EQ(content.totals, (Totals{most_accesses + 10, 0}));
  ASSERT_EQ(content.accesses.size(), most_accesses + 10u);
  for (std::size_t i = 0; i < content.accesses.size(); ++i) {
    const bool first = i < many.routine.size();
    const Calls& calls = first ? many : few;
    const std::size_t row = first ? i : i - many.routine.size();
    const Access access = content.accesses.at(i);
    ASSERT_EQ(access.routine, calls.routine[row]);
    ASSERT_EQ(access.view, calls.view[row]);
    ASSERT_EQ(access.position, calls.position[row]);
    ASSERT_EQ(access.requested, calls.size[row]);
    ASSERT_EQ(access.transferred, calls.size[row]);
    ASSERT_EQ(access.start_ns, calls.start_ns[row]);
    ASSERT_EQ(access.end_ns, calls.end_ns[row]);
    ASSERT_EQ(access.completed_ns, calls.end_ns[row]);
  }
}

}  // namespace
}  // namespace forebay::trace
