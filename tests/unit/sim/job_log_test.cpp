#include "sim/job_log.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "trace/routine.h"
#include "trace/table.h"

namespace forebay::sim {
namespace {

struct Row {
  trace::Operation operation = trace::Operation::write;
  uint32_t process = 0;
  int32_t file = 0, open = 0;
  int64_t offset = 0, bytes = 8, start_ns = 1;
  bool collective = false;
};

// One row, as columns.
struct Columns {
  explicit Columns(const Row& row)
      : process{row.process},
        file{row.file},
        open{row.open},
        operation{static_cast<uint8_t>(row.operation)},
        collective{static_cast<int8_t>(row.collective)},
        offset{row.offset},
        end{row.offset + row.bytes},
        requested{row.bytes},
        start_ns{row.start_ns} {}

  JobColumns shown() const {
    return {process, file,       open, routine,  operation, collective, offset,
            end,     contiguous, view, position, requested, start_ns,   start_ns};
  }

  std::vector<uint32_t> process;
  std::vector<int32_t> file, open;
  std::vector<uint16_t> routine{0};
  std::vector<uint8_t> operation;
  std::vector<int8_t> collective;
  std::vector<int64_t> offset, end;
  std::vector<uint8_t> contiguous{1};
  std::vector<int32_t> view{0};
  std::vector<int64_t> position{0}, requested, start_ns;
};

std::vector<trace::Open> opens() {
  std::vector<trace::Open> all(3);
  for (uint32_t i = 0; i < 3; ++i) all[i].process = i % 2;
  all[0].ranks = all[1].ranks = 2;  // two processes open one file together
  all[2].ranks = 1;
  all[2].file = 1;
  return all;
}

TEST(SimJobLog, KeepsReadsAndWritesWithAPlaceAndATime) {
  JobLog job({}, opens(), 10, 1 << 20);
  EXPECT_TRUE(job.add(Columns(Row{.operation = trace::Operation::open}).shown()));
  EXPECT_EQ(job.log().accesses().size(), 0u);
  EXPECT_TRUE(job.add(Columns(Row{}).shown()));
  EXPECT_TRUE(job.add(Columns(Row{.file = -1}).shown()));
  EXPECT_TRUE(job.add(Columns(Row{.offset = -1}).shown()));
  EXPECT_TRUE(job.add(Columns(Row{.start_ns = trace::no_time}).shown()));
  EXPECT_EQ(job.log().accesses().size(), 1u);
  EXPECT_EQ(job.unplaced(), 3u);
}

TEST(SimJobLog, CollectiveAccessesOfOneOpenAreOfOneGroup) {
  JobLog job({}, opens(), 10, 1 << 20);
  job.add(Columns(Row{.open = 0, .collective = true}).shown());
  job.add(Columns(Row{.process = 1, .open = 1, .collective = true}).shown());
  job.add(Columns(Row{.file = 1, .open = 2, .collective = true}).shown());
  const auto& accesses = job.log().accesses();
  ASSERT_EQ(accesses.size(), 3u);
  EXPECT_EQ(accesses[0].group, accesses[1].group);
  EXPECT_NE(accesses[0].group, accesses[2].group);
}

TEST(SimJobLog, AccessesWithoutAnOpenHaveAHandleByProcessAndFile) {
  JobLog job({}, opens(), 10, 1 << 20);
  for (const uint32_t process : {0u, 1u, 0u})
    job.add(Columns(Row{.process = process, .open = -1}).shown());
  const auto& accesses = job.log().accesses();
  EXPECT_EQ(accesses[0].handle, accesses[2].handle);
  EXPECT_NE(accesses[0].handle, accesses[1].handle);
  EXPECT_GE(accesses[0].handle, 3u);  // not that of an open
}

TEST(SimJobLog, RefusesWhatCannotBe) {
  JobLog job({}, opens(), 10, 1 << 20);
  EXPECT_THROW(job.add(Columns(Row{.open = 3}).shown()), std::out_of_range);
  EXPECT_THROW(job.add(Columns(Row{.process = JobLog::most_numbers + 1}).shown()),
               std::out_of_range);
  JobLog small({}, opens(), 0, log_bytes_per_access);
  EXPECT_TRUE(small.add(Columns(Row{}).shown()));
  EXPECT_FALSE(small.add(Columns(Row{}).shown()));
}

}  // namespace
}  // namespace forebay::sim
