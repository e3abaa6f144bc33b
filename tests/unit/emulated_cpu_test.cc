// On an emulator the library sees the CPU that is emulated, or XNNPACK's kernels for it would go untested.
#if defined(__aarch64__) && FERRY_EMULATED

#include <cpuinfo.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace ferry {
namespace {

TEST(EmulatedCpu, IsTheOneThatProgramsSee) {
  const char* named = std::getenv("QEMU_CPU");
  const std::string cpu = named != nullptr ? named : "max";
  if (cpu != "cortex-a53" && cpu != "cortex-a76") GTEST_SKIP() << cpu << " is of no maker";
  ASSERT_TRUE(cpuinfo_initialize());
  EXPECT_EQ(cpuinfo_get_core(0)->uarch, cpu == "cortex-a53" ? cpuinfo_uarch_cortex_a53 : cpuinfo_uarch_cortex_a76);
}

}  // namespace
}  // namespace ferry

#endif
