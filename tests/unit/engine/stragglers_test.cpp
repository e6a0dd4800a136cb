#include "engine/stragglers.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay {
namespace {

using Ends = std::vector<HandleEnd>;

TEST(StragglersTest, WhoeverIsFarBeforeTheSlowestIsAhead) {
  Stragglers handles;
  handles.look(100, Ends{{1, 60}, {2, 120}});
  EXPECT_TRUE(handles.apart(59));
  EXPECT_FALSE(handles.apart(60));
  EXPECT_TRUE(handles.ahead(39));
  EXPECT_FALSE(handles.ahead(40));
}

TEST(StragglersTest, TheSlowestIsNotAhead) {
  Stragglers handles;
  handles.look(10, Ends{{1, 60}, {2, 120}});
  EXPECT_TRUE(handles.apart(100));
  EXPECT_FALSE(handles.ahead(0));
}

TEST(StragglersTest, HandlesThatHaveWrittenNothingDoNotCount) {
  Stragglers handles;
  handles.look(100, Ends{{1, 0}});
  EXPECT_FALSE(handles.apart(0));
  handles.look(0, Ends{{1, 100}});
  EXPECT_FALSE(handles.apart(0));
}

TEST(StragglersTest, NobodyWaitsForAHandleThatHasStopped) {
  Stragglers handles;
  handles.look(100, Ends{{1, 20}, {2, 30}});
  handles.begin_wait(Ends{{1, 20}, {2, 30}});
  handles.look(100, Ends{{1, 20}, {2, 90}});
  handles.end_wait(Ends{{1, 20}, {2, 90}});
  handles.look(100, Ends{{1, 20}, {2, 90}});
  EXPECT_FALSE(handles.ahead(10));
  EXPECT_TRUE(handles.ahead(9));
  handles.look(100, Ends{{1, 21}, {2, 90}});  // it writes again
  EXPECT_TRUE(handles.ahead(78));
}

}  // namespace
}  // namespace forebay
