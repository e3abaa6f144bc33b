// Detection of core kinds from folders and lists like the kernel's; kernels are chosen by them.
#include "sdk/threads/core_kinds.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.h"
#include "tests/threads/boards.h"

namespace ferry::testing {
namespace {

constexpr uint32_t kA53 = 0x410fd034, kA55 = 0x412fd050, kA55r0 = 0x410fd050, kA76 = 0x414fd0b1, kX1 = 0x411fd440;

class CoreKindsOf : public ::testing::Test {
 protected:
  // Consecutive CPUs of a sysfs folder.
  void cpus(int count, uint32_t midr, int kilohertz) {
    for (; count > 0; --count, ++count_) {
      const std::string cpu = "cpu" + std::to_string(count_) + "/";
      char id[32];
      std::snprintf(id, sizeof id, "0x%016" PRIx32, midr);
      if (midr != 0) folder_.write(cpu + "regs/identification/midr_el1", id);
      if (kilohertz > 0) folder_.write(cpu + "cpufreq/cpuinfo_max_freq", std::to_string(kilohertz));
    }
  }
  CoreKinds found() { return {folder_.path(), (scratch_.path() / "list").c_str(), count_}; }
  static std::vector<cpuinfo_uarch> uarchs(const CoreKinds& cores) {
    std::vector<cpuinfo_uarch> uarchs;
    for (const CoreKinds::Kind& kind : cores.kinds()) uarchs.push_back(kind.uarch);
    return uarchs;
  }

  ScratchFolder scratch_;
  CpuFolder folder_{scratch_.path()};
  size_t count_ = 0;
};

TEST_F(CoreKindsOf, BigOnesComeFirst) {
  cpus(4, kA55, 1803000);
  cpus(2, kA76, 2253000);
  cpus(2, kX1, 2802000);
  const CoreKinds cores = found();
  EXPECT_EQ(uarchs(cores), (std::vector{cpuinfo_uarch_unknown, cpuinfo_uarch_cortex_a76, cpuinfo_uarch_cortex_a55}));
  EXPECT_EQ(cores.kind_of(0, 9), 2u);
  EXPECT_EQ(cores.kind_of(4, 9), 1u);
  EXPECT_EQ(cores.kind_of(7, 9), 0u);
  EXPECT_EQ(cores.kind_of(8, 9), 9u);
  EXPECT_FALSE(cores.multiply_bytes());  // for X1 the kernel is asked
}

// Little cores may have the higher clock.
TEST_F(CoreKindsOf, CoresInOrderAreLittleWhateverTheirClock) {
  cpus(4, kA53, 2200000);
  cpus(4, 0x410fd080, 1800000);
  EXPECT_EQ(uarchs(found()), (std::vector{cpuinfo_uarch_cortex_a72, cpuinfo_uarch_cortex_a53}));
}

TEST_F(CoreKindsOf, OfflineCoresAreIgnored) {
  cpus(4, kA53, 1400000);
  cpus(4, 0, 0);
  const CoreKinds cores = found();
  EXPECT_EQ(uarchs(cores), std::vector{cpuinfo_uarch_cortex_a53});
  EXPECT_EQ(cores.kind_of(5, 9), 9u);
}

TEST_F(CoreKindsOf, RevisionsDiffer) {
  cpus(4, kA55r0, 1700000);
  EXPECT_EQ(uarchs(found()), std::vector{cpuinfo_uarch_cortex_a55r0});
  EXPECT_FALSE(found().multiply_bytes());
  cpus(4, kA76, 2600000);
  EXPECT_FALSE(found().multiply_bytes());  // not all cores have it
}

TEST_F(CoreKindsOf, DotProductIsKnownByDesignOnOldKernels) {
  cpus(4, 0x51df805e, 1780000);  // Kryo 485
  cpus(4, 0x51df804e, 2840000);
  EXPECT_EQ(uarchs(found()), (std::vector{cpuinfo_uarch_cortex_a76, cpuinfo_uarch_cortex_a55}));
  EXPECT_TRUE(found().multiply_bytes());
}

// The library does not contain XNNPACK's kernels for them.
TEST_F(CoreKindsOf, ExynosM1AndM2CountAsOthers) {
  cpus(4, kA53, 1600000);
  cpus(2, 0x531f0011, 2600000);
  cpus(2, 0x534f0010, 2300000);
  EXPECT_EQ(uarchs(found()), (std::vector{cpuinfo_uarch_cortex_a75, cpuinfo_uarch_cortex_a53}));
}

TEST_F(CoreKindsOf, TheLargestL2CacheCounts) {
  cpus(1, kA55, 1800000);
  cpus(1, kA76, 2400000);
  EXPECT_EQ(found().l2_bytes(), 0u);
  for (const auto& [cpu, size] : {std::pair("cpu0/", "128K"), std::pair("cpu1/", "512K")}) {
    folder_.write(std::string(cpu) + "cache/index0/level", "1");
    folder_.write(std::string(cpu) + "cache/index2/level", "2");
    folder_.write(std::string(cpu) + "cache/index2/size", size);
    folder_.write(std::string(cpu) + "cache/index3/level", "3");
    folder_.write(std::string(cpu) + "cache/index3/size", "2048K");
  }
  EXPECT_EQ(found().l2_bytes(), 512u << 10);
}

TEST_F(CoreKindsOf, ProcCpuinfoIsUsedOnOldKernels) {
  cpus(2, 0, 0);
  const std::string entry =
      "Features\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: ";
  folder_.write("list", "processor\t: 0\n" + entry + "0xd03\nCPU revision\t: 3\n\nprocessor\t: 1\n" + entry +
                            "0xd07\nCPU revision\t: 1\n");
  const CoreKinds cores = found();
  EXPECT_EQ(uarchs(cores), (std::vector{cpuinfo_uarch_cortex_a57, cpuinfo_uarch_cortex_a53}));
  EXPECT_EQ(cores.kind_of(0, 9), 1u);
  // One entry for all cores, as in Linux 3.10.
  folder_.write("list", "Processor\t: AArch64 Processor rev 3 (aarch64)\nprocessor\t: 0\nprocessor\t: 1\n" + entry +
                            "0xd03\nCPU revision\t: 3\n");
  EXPECT_EQ(uarchs(found()), std::vector{cpuinfo_uarch_cortex_a53});
  EXPECT_EQ(found().kind_of(0, 9), 0u);
}

TEST_F(CoreKindsOf, WithoutInformationThereIsOneUnknownKind) {
  cpus(2, 0, 0);
  const CoreKinds cores = found();
  EXPECT_EQ(uarchs(cores), std::vector{cpuinfo_uarch_unknown});
  EXPECT_EQ(cores.kind_of(0, 9), 9u);
  EXPECT_FALSE(cores.multiply_bytes());
}

}  // namespace
}  // namespace ferry::testing
