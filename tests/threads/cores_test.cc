// The choice of cores on real boards, and on incomplete or invalid data.
#include "sdk/threads/cores.h"

#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "tests/support/scratch_folder.h"
#include "tests/threads/boards.h"

namespace ferry::testing {
namespace {

CpuSet range(size_t first, size_t last) {
  CpuSet cpus;
  for (; first <= last; ++first) cpus[first] = true;
  return cpus;
}

std::string chosen(const CpuFolder& folder, ferry_cores cores, const CpuSet& allowed) {
  return cpu_list(choose_cpus(cores, allowed, folder.path()));
}

class Cores : public ::testing::Test {
 protected:
  // The first board whose name starts so.
  CpuFolder board(const std::string& name = "Pixel") {
    scratch_.emplace();
    for (const Board& board : boards())
      if (std::string(board.name).starts_with(name)) return CpuFolder(scratch_->path(), board);
    ADD_FAILURE() << name;
    return CpuFolder(scratch_->path());
  }

  std::optional<ScratchFolder> scratch_;
};

TEST_F(Cores, AreChosenOnEveryBoard) {
  for (const Board& board : boards()) {
    const ScratchFolder scratch;
    const CpuFolder folder(scratch.path(), board);
    const CpuSet all = range(0, static_cast<size_t>(folder.cpus()) - 1);
    EXPECT_EQ(chosen(folder, FERRY_CORES_PERFORMANCE, all), board.performance) << board.name;
    EXPECT_EQ(chosen(folder, FERRY_CORES_BALANCED, all), board.balanced) << board.name;
    EXPECT_EQ(chosen(folder, FERRY_CORES_EFFICIENT, all), board.efficient) << board.name;
    EXPECT_EQ(chosen(folder, FERRY_CORES_ALL, all), cpu_list(all)) << board.name;
  }
}

// A container, or Android's background cpuset.
TEST_F(Cores, AreThoseAllowed) {
  const CpuFolder pixel = board();
  EXPECT_EQ(chosen(pixel, FERRY_CORES_PERFORMANCE, range(0, 3)), "0-3");
  EXPECT_EQ(chosen(pixel, FERRY_CORES_PERFORMANCE, range(0, 4)), "4");
  EXPECT_EQ(chosen(pixel, FERRY_CORES_EFFICIENT, range(4, 7)), "4-5");
  EXPECT_EQ(chosen(pixel, FERRY_CORES_BALANCED, range(6, 7)), "6-7");
  EXPECT_EQ(chosen(pixel, FERRY_CORES_PERFORMANCE, range(2, 4) | range(6, 6)), "4,6");
  EXPECT_EQ(chosen(pixel, FERRY_CORES_PERFORMANCE, CpuSet()), "");
}

TEST_F(Cores, AreThoseOnline) {
  const CpuFolder pixel = board();
  const CpuSet all = range(0, 7);
  pixel.write("online", "0-5,7");
  pixel.remove("cpu6");
  EXPECT_EQ(chosen(pixel, FERRY_CORES_PERFORMANCE, all), "4-5,7");
  EXPECT_EQ(chosen(pixel, FERRY_CORES_ALL, all), "0-5,7");
  pixel.write("online", "0-3");
  EXPECT_EQ(chosen(pixel, FERRY_CORES_PERFORMANCE, all), "0-3");
}

// If capacities are missing, frequencies are used; if these are missing too, all cores.
TEST_F(Cores, AreAllIfLittleIsKnown) {
  const CpuSet all = range(0, 7);
  const CpuFolder rock = board("Rock");
  rock.remove("cpu5/cpu_capacity");
  EXPECT_EQ(chosen(rock, FERRY_CORES_PERFORMANCE, all), "4-7") << "by 1.8 of 2.4 GHz";
  rock.remove("cpu5/cpufreq");
  for (const ferry_cores cores : {FERRY_CORES_PERFORMANCE, FERRY_CORES_BALANCED, FERRY_CORES_EFFICIENT})
    EXPECT_EQ(chosen(rock, cores, all), "0-7");
  EXPECT_EQ(chosen(CpuFolder("/nowhere"), FERRY_CORES_EFFICIENT, all), "0-7");
  EXPECT_EQ(chosen(CpuFolder("/" + std::string(5000, 'x')), FERRY_CORES_EFFICIENT, all), "0-7");
}

TEST_F(Cores, SiblingsAreFoundUnderBothTheirNames) {
  const CpuFolder phone = board("Nexus");
  const CpuSet all = range(0, 7);
  phone.write("cpu7/topology/core_cpus_list", "6-7");
  EXPECT_EQ(chosen(phone, FERRY_CORES_PERFORMANCE, all), "0-7");
  phone.write("cpu7/topology/core_cpus_list", "7");
  EXPECT_EQ(chosen(phone, FERRY_CORES_PERFORMANCE, all), "4-7");
  phone.write("cpu7/topology/thread_siblings_list", "6-7");
  phone.remove("cpu7/topology/core_cpus_list");
  EXPECT_EQ(chosen(phone, FERRY_CORES_PERFORMANCE, all), "0-7");
}

TEST_F(Cores, InvalidDataIsIgnored) {
  const CpuFolder pixel = board();
  const CpuSet all = range(0, 7);
  for (const char* list : {"", "x", "0-", "-3", "3-1", "0-3,", ",0", "0--3", "0-3 ", "0-1024", "0-99999999999", "2000",
                           "0-3;rm", "0x1", "8-9", "0-3\n\n", "-1"}) {
    pixel.write("online", list);
    EXPECT_EQ(chosen(pixel, FERRY_CORES_PERFORMANCE, all), "4-7") << list;
  }
  std::string endless = "0";
  while (endless.size() < 100000) endless += ",0";
  pixel.write("online", endless);
  EXPECT_EQ(chosen(pixel, FERRY_CORES_PERFORMANCE, all), "4-7");
  pixel.remove("online");
  std::filesystem::create_directory(std::filesystem::path(pixel.path()) / "online");
  EXPECT_EQ(chosen(pixel, FERRY_CORES_PERFORMANCE, all), "4-7");

  for (size_t cpu = 0; cpu < 8; ++cpu) pixel.remove("cpu" + std::to_string(cpu) + "/cpufreq");
  for (const char* number : {"", "-1024", "0", "1e3", "1024 MHz", "99999999999", "18446744073709551617", "0x400"}) {
    pixel.write("cpu3/cpu_capacity", number);
    for (const ferry_cores cores : {FERRY_CORES_PERFORMANCE, FERRY_CORES_BALANCED, FERRY_CORES_EFFICIENT})
      EXPECT_EQ(chosen(pixel, cores, all), "0-7") << number;
  }
  pixel.write("cpu3/cpu_capacity", "9999999999");
  EXPECT_EQ(chosen(pixel, FERRY_CORES_PERFORMANCE, all), "3-7") << "a number, and the fastest then";
  EXPECT_EQ(chosen(pixel, FERRY_CORES_EFFICIENT, all), "0-2");
}

TEST(CpuList, MatchesTheKernelsFormat) {
  EXPECT_EQ(cpu_list({}), "");
  EXPECT_EQ(cpu_list(range(1023, 1023)), "1023");
  EXPECT_EQ(cpu_list(range(0, 1023)), "0-1023");
  EXPECT_EQ(cpu_list(range(0, 3) | range(6, 6) | range(8, 9)), "0-3,6,8-9");
}

}  // namespace
}  // namespace ferry::testing
