#include "runtime/trace/recorded_run.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace forebay::runtime {
namespace {

// A run without a trace file.
RecordedRun nothing() {
  return RecordedRun(std::make_shared<const TraceReader>(std::vector<std::string>{}));
}

TEST(RecordedRun, WithoutAProcessHasNoOptionsAndCannotBeReplayed) {
  EXPECT_TRUE(nothing().options().empty());
  EXPECT_THROW(nothing().replay({}), std::invalid_argument);
}

TEST(RecordedRun, RefusesOptionsThatNoRunCanHave) {
  EXPECT_THROW(nothing().replay({{"page_size", "1000"}}), std::invalid_argument);
  EXPECT_THROW(nothing().replay({{"polcy", "lru"}}), std::invalid_argument);
  EXPECT_THROW(nothing().replay({{"page_size", "1MiB"}, {"cache_size", "64KiB"}}),
               std::invalid_argument);
}

}  // namespace
}  // namespace forebay::runtime
