#include "examples/camera-linux/latency.h"

#include <gtest/gtest.h>

namespace camera {
namespace {

TEST(Latency, IsThePercentileByItsDefinition) {
  Latency latency;
  EXPECT_EQ(latency.percentile(0.5), 0);
  for (int i = 1; i <= 200; ++i) latency.add(i);  // of 200 values the 100th and the 198th, by the nearest rank
  EXPECT_NEAR(latency.percentile(0.5), 100, 1);
  EXPECT_NEAR(latency.percentile(0.99), 198, 1.98);
  EXPECT_NEAR(latency.percentile(1), 200, 2);
  EXPECT_EQ(latency.total(), 200u);
}

TEST(Latency, KeepsWhatIsOutOfItsRangeAtTheEnds) {
  Latency latency;
  latency.add(-5);  // inconsistent clocks
  EXPECT_LT(latency.percentile(0.5), 0.02);
  Latency slow;
  slow.add(1e9);
  EXPECT_NEAR(slow.percentile(0.5), 82000, 1000);
}

}  // namespace
}  // namespace camera
