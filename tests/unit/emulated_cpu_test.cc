// In an emulator the library must detect the emulated CPU; otherwise XNNPACK's kernels for it would not be tested.
#if defined(__aarch64__) && FERRY_EMULATED

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "sdk/threads/cpuinfo.h"

namespace ferry {
namespace {

TEST(EmulatedCpu, IsTheOneThatIsDetected) {
  const char* named = std::getenv("QEMU_CPU");
  const std::string cpu = named != nullptr ? named : "max";
  if (cpu != "cortex-a53" && cpu != "cortex-a76") GTEST_SKIP() << cpu << " is of no maker";
  ASSERT_TRUE(cpuinfo_initialize());
  EXPECT_EQ(cpuinfo_get_core(0)->uarch, cpu == "cortex-a53" ? cpuinfo_uarch_cortex_a53 : cpuinfo_uarch_cortex_a76);
  EXPECT_EQ(cpuinfo_get_uarchs_count(), 1u);
  EXPECT_EQ(cpuinfo_get_current_uarch_index_with_default(7), 0u);
  EXPECT_EQ(cpuinfo_has_arm_neon_dot(), cpu == "cortex-a76");
  ASSERT_EQ(cpuinfo_get_l2_caches_count(), 1u);
  EXPECT_EQ(cpuinfo_get_l2_cache(0)->size, 512u << 10);
}

}  // namespace
}  // namespace ferry

#endif
