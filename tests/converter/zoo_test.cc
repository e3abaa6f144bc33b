// The table of publishers' checkpoints.
#include "models/zoo.h"

#include <gtest/gtest.h>

#include "models/families.h"

namespace ferry {
namespace {

// The digits by which models/ distinguishes trainings are those of the files.
TEST(Zoo, AgreesWithTheDigitsOfVariants) {
  size_t compared = 0;
  for (const ZooEntry& e : zoo(families()))
    for (const Family* family : families())
      for (const Variant* variant : family->variants())
        if (!variant->digest.empty() && variant->hub == e.model) {
          EXPECT_TRUE(e.sha256.starts_with(variant->digest)) << e.name;
          ++compared;
        }
  EXPECT_GE(compared, 10u);
}

}  // namespace
}  // namespace ferry
